// The help of the page, with pictures. The key ? and the button in the head open it.

function showHelp() {
  if (!$$("help").open) $$("help").showModal();
}

extras.push({
  build() {
    $$("help-close").addEventListener("click", () => $$("help").close());
    $$("help").addEventListener("click", (event) => {
      if (event.target === $$("help")) $$("help").close(); // beside it
    });
  },
});
