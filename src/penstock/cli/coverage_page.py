"""The page of ``penstock coverage --html``: one file, without scripts from elsewhere."""
from __future__ import annotations

from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.5rem } h2 { font: 600 1rem ui-monospace, monospace; margin: 1.5rem 0 .3rem }
.bar { display: flex; height: 1rem; border-radius: .3rem; overflow: hidden; background: #eee }
.bar .exists { background: #2e7d32 } .bar .partial { background: #f9a825 } .bar .missing { background: #c62828 }
table { border-collapse: collapse; width: 100% } td { padding: .15rem .6rem; border-top: 1px solid #e4e4e4; vertical-align: top }
td:first-child { text-align: right; color: #666; width: 4rem } code { font-size: .9rem }
td.exists { color: #2e7d32 } td.partial { color: #9a6700 } td.missing { color: #c62828; font-weight: 600 } .problem { color: #c62828 }
#hide:checked ~ main tr.exists { display: none }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } td { border-color: #333 } td.exists { color: #81c784 }
  td.partial { color: #ffd54f } td.missing, .problem { color: #ef9a9a } }
"""


def render(report: dict[str, Any]) -> str:
    """The page of a report."""
    counts = report["names"]
    total = sum(counts.values())
    bar = "".join(f'<div class="{status}" style="width:{100 * count / (total or 1):.2f}%"></div>' for status, count in counts.items())
    summary = ", ".join(f"{count} {'in part' if status == 'partial' else status}" for status, count in counts.items())
    files = "".join(_file(file) for file in report["files"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Coverage</title><style>{_STYLE}</style></head>
<body><h1>TensorFlow names that Penstock has</h1>
<p>{report['read']} files, {total} names: {summary}</p><div class="bar" role="img" aria-label="{summary}">{bar}</div>
<input type="checkbox" id="hide" checked> <label for="hide">hide what exists</label><main>{files}</main></body></html>
"""


def _file(file: dict[str, Any]) -> str:
    problem = f'<p class="problem">Not Python 3: {escape(file["problem"])}</p>' if file["problem"] else ""
    rows = "".join(f'<tr class="{use["status"]}"><td>{use["line"]}</td><td class="{use["status"]}">{use["status"]}</td>'
                   f'<td><code>{escape(use["name"])}</code></td><td>{escape(use["reason"])}</td></tr>' for use in file["uses"])
    return f"<h2>{escape(file['path'])}</h2>{problem}<table>{rows}</table>"
