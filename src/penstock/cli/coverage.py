"""``penstock coverage PROGRAM_OR_FOLDER``: which names of TensorFlow a program uses, and what Penstock has of them."""
from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm import tqdm

from penstock.api.alias import install_as_tensorflow
from penstock.cli import coverage_page
from penstock.cli.coverage_uses import ProgramUses, find_sources, read_source
from penstock.cli.coverage_verdicts import EXISTS, IN_PART, MISSING, Verdict, judge

_EPILOG = """\
exit code: 0 if all names exist; 1 if one is missing or (with --strict) there in part, or if a file is not Python 3; 2 if there is nothing to read.
Names are found in the source, which is not run: through imports, aliases and attributes, not through getattr() or strings."""


def main(argv: list[str]) -> int:
    """Runs the command."""
    options = _parse(argv)
    install_as_tensorflow()
    try:
        paths = find_sources([Path(each) for each in options.paths])
        if not paths:
            raise FileNotFoundError(f"no Python file in {', '.join(options.paths)}")
        report = report_on([read_source(path) for path in tqdm(paths, "reading", delay=1, leave=False, disable=None)])
        if options.html:
            Path(options.html).write_text(coverage_page.render(report), encoding="utf-8")
    except OSError as error:
        print(f"penstock coverage: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, indent=1) if options.json else _as_text(report, options.all))
    if options.html:
        print(f"penstock coverage: the page is {options.html}", file=sys.stderr)
    return _exit_code(report, options.strict)


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="penstock coverage", description="Which TensorFlow names of a program exist in Penstock.", epilog=_EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PROGRAM_OR_FOLDER", help="Python files, notebooks, or folders of them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--html", metavar="FILE", help="write a page, too")
    parser.add_argument("--all", action="store_true", help="list the names that exist, too")
    parser.add_argument("--strict", action="store_true", help="names that are there in part count as missing for the exit code")
    return parser.parse_args(argv)


def report_on(sources: list[ProgramUses]) -> dict[str, Any]:
    """What the JSON output holds: a summary of distinct names, and per file its uses by line."""
    files: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    own: frozenset[str] = frozenset().union(*(source.own for source in sources))
    for source in sources:
        uses: dict[tuple[int, str], dict[str, Any]] = {}
        for use in source.uses:
            verdict = Verdict(EXISTS) if use.name in own else judge(use)
            uses[use.line, use.name] = {"line": use.line, "name": use.name, "status": verdict.status, "reason": verdict.reason}
            names[use.name] = max(names.get(use.name, EXISTS), verdict.status, key=(EXISTS, IN_PART, MISSING).index)
        if uses or source.problem:
            files.append({"path": str(source.path), "problem": source.problem, "uses": [uses[key] for key in sorted(uses)]})
    counts = Counter(names.values())
    return {"files": files, "read": len(sources), "names": {status: counts[status] for status in (EXISTS, IN_PART, MISSING)}}


def _as_text(report: dict[str, Any], everything: bool) -> str:
    lines = []
    for file in report["files"]:
        if file["problem"]:
            lines.append(f"{file['path']}: not Python 3: {file['problem']}; its names were looked for in the text")
        lines += [f"{file['path']}:{use['line']}: {use['status']:8}{use['name']}{': ' if use['reason'] else ''}{use['reason']}"
                  for use in file["uses"] if everything or use["status"] != EXISTS]
    counts = report["names"]
    total = sum(counts.values())
    problems = sum(bool(file["problem"]) for file in report["files"])
    lines.append(f"{report['read']} files, {total} names of TensorFlow: {counts[EXISTS]} exist, {counts[IN_PART]} in part, {counts[MISSING]} missing"
                 + (f"; {problems} files are not Python 3" if problems else ""))
    return "\n".join(lines)


def _exit_code(report: dict[str, Any], strict: bool) -> int:
    counts = report["names"]
    problem = any(file["problem"] for file in report["files"])
    return int(bool(counts[MISSING] or problem or (strict and counts[IN_PART])))
