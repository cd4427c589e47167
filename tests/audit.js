// Returns the serious accessibility errors of the page. audit.py says which.
() => {
    const wrong = [];
    const brief = (node) => node.outerHTML.slice(0, 120);
    const seen = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const text = (node) => (node?.textContent ?? "").trim();
    const named = (node) => {
        const by = (node.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
        return node.getAttribute("aria-label") || by.some((id) => text(document.getElementById(id)))
            || [...(node.labels ?? [])].some(text) || node.getAttribute("alt") || text(node) || node.title;
    };
    const controls = "a[href], button, input, select, textarea, summary, [tabindex='0'], [role=region]";
    const all = [...document.querySelectorAll("body *")].filter(seen);
    for (const node of all) {
        if (node.matches(`${controls}, img, canvas, svg[role], table, iframe`) && !named(node)) wrong.push(`no name: ${brief(node)}`);
        if (node.matches("img") && !node.hasAttribute("alt")) wrong.push(`no alt: ${brief(node)}`);
        if (node.matches("a, button") && node.parentElement.closest("a, button")) wrong.push(`control in a control: ${brief(node)}`);
        if (node.closest("[aria-hidden=true]") && node.matches("a[href], button, input, select") && node.tabIndex >= 0) wrong.push(`hidden control: ${brief(node)}`);
        const scrolls = node.scrollWidth > node.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(node).overflowX);
        if (scrolls && node.tabIndex < 0 && !node.querySelector(`${controls}, [tabindex]`)) wrong.push(`scrolls without keyboard: ${brief(node)}`);
        for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "aria-activedescendant", "for"]) {
            for (const id of (node.getAttribute(name) ?? "").split(" ").filter(Boolean)) {
                if (!document.getElementById(id)) wrong.push(`${name} of nothing: ${brief(node)}`);
            }
        }
    }
    const landmarks = all.filter((node) => node.matches("[role=region], section[aria-label], section[aria-labelledby], nav, form[aria-label]"));
    const called = landmarks.map((node) => `${node.matches("nav, form") ? node.localName : "region"} ${node.getAttribute("aria-label") ?? text(document.getElementById(node.getAttribute("aria-labelledby")))}`);
    for (const name of new Set(called.filter((name, k) => called.indexOf(name) < k))) wrong.push(`landmark twice: ${name}`);
    const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
    for (const id of new Set(ids.filter((id, k) => ids.indexOf(id) < k))) wrong.push(`id twice: ${id}`);
    if (!document.documentElement.lang) wrong.push("no language");
    if (!document.title.trim()) wrong.push("no title");
    if (document.querySelectorAll("main").length !== 1) wrong.push("not one main part");
    const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(seen).map((node) => Number(node.localName[1]));
    levels.forEach((level, k) => level - (levels[k - 1] ?? 0) > 1 && wrong.push(`heading ${level} after ${levels[k - 1]}`));

    const parts = (colour) => {
        const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
        return { rgb: [r, g, b], a };
    };
    const over = (top, below) => top.rgb.map((value, k) => top.a * value + (1 - top.a) * below[k]);
    const paperOf = (node) => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) {
            const paper = parts(getComputedStyle(at).backgroundColor);
            if (paper.a > 0) layers.push(paper);
            if (paper.a === 1) break;
        }
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    for (const node of all) {
        const words = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
        if (!words || node.closest("svg, :disabled, .skip") || node.localName === "option") continue;
        const paper = paperOf(node);
        const ink = over(parts(getComputedStyle(node).color), paper);
        const [high, low] = [light(ink), light(paper)].sort((a, b) => b - a);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${brief(node)}`);
    }
    return wrong;
}
