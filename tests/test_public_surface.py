import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tools.public_names import stubs

import mapgauge as mg

FUNCTIONS = [name for name in mg.__all__ if inspect.isfunction(getattr(mg, name))]


def test_all_names_what_is_public() -> None:
    modules = {name for name in dir(mg) if inspect.ismodule(getattr(mg, name))}
    assert set(dir(mg)) - modules == set(mg.__all__)
    assert modules == {"demo", "loggers", "plot", "report", "truth"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'evaluat'"):
        mg.evaluat  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", [name for name in mg.__all__ if name != "__version__"])
def test_every_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(mg, name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example_and_names_its_arguments(name: str) -> None:
    function = getattr(mg, name)
    documentation = inspect.getdoc(function)
    assert documentation is not None
    assert ">>>" in documentation
    own = inspect.signature(function).parameters
    assert name == "sospa_align" or all(f"    {argument}: " in documentation for argument in own)


CONTRACT = {
    "answer": "names=None workers=None",
    "mark_ignored": "same=0.25 workers=None",
    "changes": "same=0.25 floor=0.4 samples=1000 level=0.95 seed=0 workers=None progress=None",
    "mean_accuracy": "",
    "mask_iou": "",
    "neighbours": "tokens=None count=1 protocol=paper-60x30 other_scenes=False work=None workers=None progress=None",
    "diversity": "protocol=paper-60x30 workers=None progress=None",
    "thin": "protocol=paper-60x30 progress=None",
    "propose": "shares=None margin=5.0 cell=200.0 tags=None",
    "splits": "protocol=paper-60x30 tags=None work=None workers=None progress=None",
    "read_tags": "",
    "with_poses": "",
    "slices": "tags=None samples=1000 level=0.95 seed=0",
    "sospa": "cutoff=1.5 order=1.0 closed=False directed=True normalised=False",
    "sospa_align": "cutoff=1.5 order=1.0 closed=False directed=True",
    "sospa_matrix": "cutoff=1.5 order=1.0 closed=False directed=True normalised=False",
    "sospa_from_distances": "cutoff=1.5 order=1.0 closed=False directed=True normalised=False",
    "pld": "confidence=None truth_confidence=None cutoff=1.5 order=1.0 closed=False directed=True",
    "track_pld": "switch_cost=0.5 cutoff=1.5 confidence=None truth_confidence=None closed=False directed=True "
    "binary=False",
    "lane_graph_pld": "links=None truth_links=None confidence=None truth_confidence=None link_cost=0.1 "
    "link_floor=0.0 cutoff=1.5 directed=True binary=False",
    "graph_scores": "parity=None settings=None",
    "frames_from_graphs": "name=",
    "graphs_from_frames": "",
    "global_map": (
        "rule=median poses=None region=(60.0, 30.0) cutoff=1.5 break_cost=0.5 over_time=False pose_noise=None seed=0 "
        "workers=None progress=None"
    ),
    "error_map": "names=None confidence=0.0 cutoff=None poses=None workers=None progress=None",
    "suspicious_truth": "names=None poses=None workers=None progress=None",
    "network_pld": "confidence=None truth_confidence=None break_cost=0.5 cutoff=1.5 closed=False directed=True",
    "chamfer": "",
    "frechet": "closed=False directed=True",
    "resample": "spacing=None count=None sampling=paper",
    "read": "classes=None degenerate=strict workers=None",
    "write": "classes=None",
    "check": "region=None classes=None",
    "align": "classes=None missing=empty unknown=error",
    "average_precision": "interpolation=area",
    "protocol": "",
    "evaluate": "metrics=None extra=() ranges=() scenes=None unknown=error degenerate=strict workers=None "
    "progress=None engine=None work=None resume=False on_error=stop axes=keep metadata=None",
    "sweep": "cutoffs=None spacings=None counts=None regions=None metrics=None unknown=error workers=None "
    "progress=None",
    "compare": "names=None samples=1000 level=0.95 seed=0 correction=none pairs=all keys=None",
    "causes": "fixes=False thresholds=None workers=None progress=None",
    "correct_together": "level=0.95",
    "compare_runs": "samples=1000 level=0.95 seed=0",
    "margin_verdict": "lower_is_better=True",
    "plan": "power=0.8",
    "ranks": "",
    "first_screen": "names=None",
    "scenes_needed": "power=0.8 level=0.95 samples=1000 of_seeds=0.0",
    "smallest_difference": "power=0.8 level=0.95",
    "compare_causes": "samples=1000 level=0.95 seed=0 correction=none",
    "differences": "",
    "write_rerun": "images=None progress=None",
    "explain": "inputs=((None, None), (None, None)) workers=None progress=None",
    "published": "",
    "cite": "",
    "check_submission": "",
    "score_submission": "name=None link=",
    "history": "protocol=None tags=None by=None only_worse=False progress=None",
    "board": "challenge=None",
    "verify": "challenge=None workers=None",
    "load_results": "",
    "confidence": "cutoff=None hit=0.5 bins=10 samples=1000 level=0.95 seed=0 workers=None progress=None",
    "track": "poses=None scenes=None method=pld confidence=0.4 look_back=5 cutoff=1.5 spacing=0.5 region=(60.0, 30.0) "
    "workers=None progress=None",
    "consistency": "poses=None scenes=None classes=None lags=(1, 2, 5, 10) region=(60.0, 30.0) margin=2.0 cutoff=1.5 "
    "spacing=0.5 samples=1000 level=0.95 seed=0 workers=None progress=None",
}


@pytest.mark.whole
@pytest.mark.parametrize("name", FUNCTIONS)
def test_keywords_and_their_defaults_are_a_contract(name: str) -> None:
    parameters = inspect.signature(getattr(mg, name)).parameters.values()
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "closed_tolerance"]
    assert " ".join(f"{p.name}={p.default}" for p in keywords) == CONTRACT[name]


@pytest.mark.whole
def test_type_checkers_see_the_names_that_are_imported_on_first_use() -> None:
    stub = ast.parse(Path(str(mg.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    stated = [alias for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert [alias.asname for alias in stated] == [alias.name for alias in stated]  # "as" exports a name of a stub
    assert sorted(alias.name for alias in stated) == dir(mg)


@pytest.mark.whole
def test_the_stubs_are_what_the_manifests_say() -> None:
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tools.public_names"


# Members for other modules of the package. Their types are not part of the interface.
INSIDE = {
    *("Results.rows", "Results.scores", "Results.totals", "Results.geometry", "Results.need_data"),
    *("Night.pooled", "History.metrics"),
    *("Accumulator.settings", "Accumulator.score", "Accumulator.rows", "Causes.instances"),
}


def own_types(annotation: Any) -> set[type]:
    """The classes of the package in an annotation."""
    if inspect.isclass(annotation) and annotation.__module__.startswith("mapgauge"):
        return {annotation}
    return set().union(*map(own_types, get_args(annotation))) if get_args(annotation) else set()


def resolved(annotation: Any, module: str) -> Any:
    """An annotation; of those in quotes, what they name."""
    return eval(annotation, vars(sys.modules[module])) if isinstance(annotation, str) else annotation


def returned_types(thing: Any) -> Iterator[tuple[str, type]]:
    """The classes that a function returns, or that the public members of a class have, with the names of these."""
    if not inspect.isclass(thing):
        for found in own_types(resolved(thing.__annotations__.get("return"), thing.__module__)):
            yield thing.__name__, found
        return
    members: dict[str, Any] = dict(getattr(thing, "__annotations__", {}))
    for name, member in vars(thing).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        if inspect.isfunction(function):
            members[name] = function.__annotations__.get("return")
    for base in getattr(thing, "__orig_bases__", ()):
        members[str(base)] = base
    for name, annotation in members.items():
        if not name.startswith("_") and f"{thing.__name__}.{name}" not in INSIDE:
            for found in own_types(resolved(annotation, thing.__module__)):
                yield f"{thing.__name__}.{name}", found


@pytest.mark.parametrize("name", [name for name in mg.__all__ if name != "__version__"])
def test_everything_that_is_returned_is_public(name: str) -> None:
    public = {getattr(mg, name) for name in mg.__all__ if inspect.isclass(getattr(mg, name))}
    hidden = {where: found.__name__ for where, found in returned_types(getattr(mg, name)) if found not in public}
    assert hidden == {}
