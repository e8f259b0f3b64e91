"""The table of providers and features, as a page of the documentation."""

import re

HOLDS = "●"
PAGE = "Sources/OIDCCore/Documentation.docc/Providers.md"


def holds(provider, scenario):
    remark = provider.facts.get("remarks", {}).get(scenario.name)
    return f"{HOLDS} ({remark})" if remark else HOLDS


def rows(columns, scenarios):
    head = "| | " + " | ".join(f"{provider.facts['title']} {provider.version}" for provider, _ in columns) + " |"
    lines = [head, "| --- |" + " --- |" * len(columns)]
    for scenario in scenarios:
        cells = " | ".join(cells.get(scenario.name, "not tried") for _, cells in columns)
        lines.append(f"| {scenario.title} | {cells} |")
    return lines


def page(columns, scenarios, browsers):
    lines = [
        "# Tested providers", "",
        "What works with which provider, found by running the built command against it with real browsers. "
        "<doc:ProvidersByName> has those that were tried against stand-ins.", "",
        "## Overview", "",
        "Written by `Tests/Interop/run --write`. Each ● is a scenario that passed, with "
        f"{' and '.join(browsers)} headless, started by the command itself through `$BROWSER`; anything else is the "
        "reason why it does not apply.", ""]
    lines += rows(columns, scenarios)
    lines += ["", "## What they do that the specifications do not say", ""]
    for provider, _ in columns:
        lines += [f"### {provider.facts['title']}", ""]
        lines += [f"- {note}" for note in provider.facts["notes"]]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def without_versions(text, columns):
    """Debian's security updates change a version; that is no news about us."""
    for provider, _ in columns:
        text = re.sub(re.escape(provider.facts["title"]) + r" [0-9][^ |]*", provider.facts["title"], text)
    return text


def publish(top, columns, scenarios, write):
    """Writes the table, or answers what the documentation says otherwise."""
    from webdriver import BROWSERS
    documents = {top / PAGE: page(columns, scenarios, list(BROWSERS))}
    complaints = []
    for path, text in documents.items():
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"written: {path.relative_to(top)}")
        elif not path.exists() or without_versions(path.read_text(), columns) != without_versions(text, columns):
            complaints.append(f"{path.relative_to(top)} says otherwise; Tests/Interop/run --write brings it up to date")
            print(f"FAILED {complaints[-1]}")
    return complaints
