"""The report as a JSON document, of the form that ``tercet_spec/schemas/report.json`` publishes.

The text is ASCII, so that half characters survive. All that depends on time stands in ``timings``: the
rest is the same, byte for byte, for the same implementation, seed and budget.
"""

import json
from collections.abc import Mapping
from typing import Any

from tercet_conformance.drawing import draw
from tercet_conformance.driver import Diagnosis
from tercet_conformance.files import Saved, document_of
from tercet_conformance.report import MEANINGS, in_notation, shown, where
from tercet_conformance.reports.texts import replay_of
from tercet_conformance.verdicts import FLOOR, Counterexample, KnownFailure, Report, RuleVerdict
from tercet_spec.scenarios import Scenario
from tercet_spec.vocabulary import Description

FORMAT, VERSION = "report", 1


def render(report: Report, name: str, saved: Mapping[Scenario, str]) -> str:
    """Write a report as JSON; ``name`` is the implementation's on the command line, ``saved`` as the terminal's."""
    return json.dumps(report_document(report, name, saved), indent=1) + "\n"


def report_document(report: Report, name: str, saved: Mapping[Scenario, str]) -> dict[str, Any]:
    """Turn a report into plain data."""
    return {
        "tercet": FORMAT,
        "version": VERSION,
        "implementation": {"argument": name, **implementation_document(report.description)},
        "budget": report.budget,
        "seeds": list(report.seeds),
        "scenarios": report.scenarios,
        "steps": report.steps,
        "unsupported": report.unsupported,
        "whole": report.is_whole,
        "profile": {
            "kept": str(report.kept) if report.is_whole and report.kept else None,
            "hooks": report.keeps_hooks if report.is_whole else None,
            "asked": str(report.asked) if report.asked else None,
            "lacking": [rule.id for rule in report.lacking],
        },
        "floor": FLOOR,
        "exit": {"code": report.exit_code, "meaning": MEANINGS[report.exit_code]},
        "rules": [verdict_document(verdict, name) for verdict in report.verdicts],
        "diagnoses": [
            diagnosis_document(diagnosis, scenario, None if scenario is None else saved.get(scenario), name)
            for diagnosis, scenario in report.diagnoses
        ],
        "baseline": {
            "stale": [known_document(entry) for entry in report.stale],
            "idle": [known_document(entry) for entry in report.idle],
        },
        "timings": {"seconds": round(report.seconds, 3)},
    }


def implementation_document(description: Description) -> dict[str, Any]:
    """Turn what an implementation says of itself into plain data."""
    return {
        "name": description.name,
        "version": description.version,
        "language": description.language,
        "capabilities": sorted(description.capabilities),
        "character": description.character,
        "before": description.before,
        "after": description.after,
        "failed_compressor": description.failed_compressor,
        "parts": description.parts,
        "sets_aside": description.sets_aside,
    }


def verdict_document(verdict: RuleVerdict, name: str) -> dict[str, Any]:
    """Turn a verdict into plain data."""
    rule = verdict.rule
    return {
        "id": rule.id,
        "level": rule.level.value,
        "profile": str(rule.profile),
        "verdict": verdict.verdict.value,
        "reason": verdict.reason,
        "following": verdict.following,
        "reached": dict(verdict.reached),
        "counterexamples": [example_document(example, rule.id, name) for example in verdict.counterexamples],
    }


def example_document(example: Counterexample, rule: str, name: str) -> dict[str, Any]:
    """Turn a counterexample into plain data; its scenario is what a file of its own would hold."""
    line, nearly = in_notation(example.scenario)
    drawing, violation = draw(example.finding), example.finding.violation
    return {
        "line": line,
        "line_is_whole": not nearly,
        "drawing": None if drawing is None else {drawing.kind: shown(drawing.line), "marks": drawing.marks},
        "where": where(example),
        "expected": violation.expected,
        "seen": violation.seen,
        "seen_once": example.seen_once,
        "saved": example.saved,
        "known": None if example.known is None else known_document(example.known),
        "replay": replay_of(example.scenario, example.saved, name),
        "scenario": document_of(Saved(example.scenario, rule)),
    }


def diagnosis_document(diagnosis: Diagnosis, scenario: Scenario | None, saved: str | None, name: str) -> dict[str, Any]:
    """Turn a diagnosis into plain data."""
    return {
        "operation": diagnosis.operation,
        "problem": diagnosis.problem,
        "times": diagnosis.times,
        "saved": saved,
        "replay": None if scenario is None else replay_of(scenario, saved, name),
        "scenario": None if scenario is None else document_of(Saved(scenario)),
    }


def known_document(entry: KnownFailure) -> dict[str, Any]:
    """Turn an entry of a baseline into plain data."""
    return {
        "rule": entry.rule,
        "kind": entry.kind,
        "reason": entry.reason,
        "link": entry.link,
        "signature": entry.signature,
    }
