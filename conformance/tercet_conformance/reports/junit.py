"""The report as JUnit XML: a test case a rule, which every CI shows.

A case fails or is in error exactly where the exit code says so: a broken MUST is a failure; a MUST that
is undecided is an error, since a failure would say that it is broken, and a skip that nobody asked. What
costs a run nothing (a SHOULD, what is known, what is not applicable) passes or is skipped, with the reason.
All text is shown as the terminal shows it, which leaves only characters that XML 1.0 allows.
"""

from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tercet_conformance.driver import Diagnosis
from tercet_conformance.report import MEANINGS, print_broken, print_diagnoses, print_end, remark, shown
from tercet_conformance.reports.texts import files_elsewhere, plain, verdict_elsewhere
from tercet_conformance.verdicts import Report, RuleVerdict, Verdict
from tercet_spec.scenarios import Scenario


def render(report: Report, name: str, saved: Mapping[Scenario, str]) -> str:
    """Write a report as JUnit XML; ``name`` is the implementation's on the command line."""
    described = report.description
    root = Element("testsuites")
    suite = SubElement(root, "testsuite", name=shown(f"{described.name} {described.version} ({described.language})"))
    properties = SubElement(suite, "properties")
    facts = {
        "implementation": shown(name),
        "budget": report.budget,
        "seeds": " ".join(map(str, report.seeds)),
        "scenarios": report.scenarios,
        "steps": report.steps,
        "unsupported": report.unsupported,
        "exit code": f"{report.exit_code}: {MEANINGS[report.exit_code]}",
    }
    for fact, value in facts.items():
        SubElement(properties, "property", name=fact, value=str(value))
    for verdict in report.verdicts:
        add_rule(suite, verdict, report, name)
    for number, (diagnosis, scenario) in enumerate(report.diagnoses, 1):
        add_diagnosis(suite, number, diagnosis, scenario, name, saved)
    end = plain(lambda printer: print_end(report, printer))
    if report.interrupted or (report.exit_code and not number_of(suite, "failure") + number_of(suite, "error")):
        case = SubElement(suite, "testcase", classname="tercet", name="exit code")
        add(case, "error", MEANINGS[report.exit_code], end)
    for element in (suite, root):
        element.set("tests", str(number_of(suite, "")))
        for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(attribute, str(number_of(suite, kind)))
        element.set("time", f"{report.seconds:.3f}")
    SubElement(suite, "system-out").text = end
    indent(root, " ")
    text: bytes = tostring(root, "utf-8", xml_declaration=True)
    return text.decode() + "\n"


def number_of(suite: Element, kind: str) -> int:
    """Count the test cases with an element of a kind; all of them where it is empty."""
    return len(suite.findall(f"testcase/{kind}" if kind else "testcase"))


def add(case: Element, kind: str, message: str, text: str = "") -> None:
    """Say how a test case ended."""
    SubElement(case, kind, message=message).text = text or None


def add_rule(suite: Element, verdict: RuleVerdict, report: Report, name: str) -> None:
    """Add the test case of a rule."""
    rule = verdict.rule
    case = SubElement(suite, "testcase", classname=f"tercet.{rule.family}", name=rule.id)
    message = f"{verdict.verdict.value}: {remark(verdict)}"
    text = ""
    for violation in (example.finding.violation for example in verdict.counterexamples[:1]):
        message += f"; expected: {shown(violation.expected)}; seen: {shown(violation.seen)}"
        text = plain(lambda printer: print_broken(verdict_elsewhere(verdict), printer, name))
    if verdict.is_broken_must:
        add(case, "failure", message, text)
    elif verdict.is_undecided_must:
        add(case, "error", message)
    elif rule in report.lacking:
        add(case, "error", f"{message}; profile asked for: {report.asked}")
    elif verdict.verdict is Verdict.FAIL:
        SubElement(case, "system-out").text = text or message
    elif verdict.verdict is not Verdict.PASS:
        add(case, "skipped", message, text)


def add_diagnosis(
    suite: Element,
    number: int,
    diagnosis: Diagnosis,
    scenario: Scenario | None,
    name: str,
    saved: Mapping[Scenario, str],
) -> None:
    """Add the test case of what went wrong beside the rules."""
    case = SubElement(suite, "testcase", classname="tercet.diagnosis", name=f"{number}: {shown(diagnosis.operation)}")
    alone = [(diagnosis, scenario)]
    files = files_elsewhere(saved)
    text = plain(lambda printer: print_diagnoses(alone, name, printer, debug=False, saved=files))
    add(case, "error", shown(diagnosis.problem), text)
