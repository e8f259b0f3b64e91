"""The table of presets and scenarios, as a page of the documentation."""

HOLDS = "●"
PAGE = "Sources/OIDCCore/Documentation.docc/ProvidersByName.md"
TRIED = ("Written by `Tests/Providers/run --write`: each ● was tried with the built command, a profile that `oidc config "
         "init` made, and nothing else, against a stand-in of the provider's documented behavior, not the real service.")


def cell(cells, row, scenario):
    remark = cells[row.name, scenario.name]
    return f"{HOLDS} {remark}".strip()


def lines(rows, scenarios, cells):
    yield "| preset | " + " | ".join(scenario.title.lower() for scenario in scenarios) + " |"
    yield "| --- |" + " --- |" * len(scenarios)
    for row in rows:
        yield f"| `{row.name}` | " + " | ".join(cell(cells, row, scenario) for scenario in scenarios) + " |"


def page(rows, scenarios, cells, setups):
    text = ["# Providers by name", "", "What `oidc config init NAME` knows of each provider.", "", "## Overview", "",
            TRIED, "", *lines(rows, scenarios, cells), "",
            "A device code is used where the provider documents one for the client that is registered; elsewhere the URL "
            "is pasted. Sign-out revokes the tokens, unless there is no revocation as in RFC 7009 to use: then `oidc "
            "logout` forgets the session *here only*, and `oidc logout --browser` ends it *in the browser* where the "
            "provider has a page for that.", "", "## What to register, and what differs", ""]
    for row in rows:
        if row.variant:
            continue
        setup = setups[row.name]
        parameters = "".join(f" {word}" for word in row.parameters)
        place, redirect = setup["register_at"], setup["redirect_uri"]
        text += [f"### {row.title}", "", f"`oidc config init {row.preset}{parameters} --client-id ID`", "",
                 f"- Register {setup['register']} ({place}), with the redirect URL `{redirect}`."]
        if row.note:
            text += [f"- {row.note[0].upper()}{row.note[1:]}."]
        text += [f"- Source: {row.source}; read {row.read}.", ""]
    return "\n".join(text).rstrip() + "\n"


def publish(top, rows, scenarios, run, write):
    """Writes it, or answers what the documentation says otherwise."""
    documents = {top / PAGE: page(rows, scenarios, run.cells, run.setups)}
    complaints = []
    for path, text in documents.items():
        if write:
            path.write_text(text)
            print(f"written: {path.relative_to(top)}")
        elif not path.exists() or path.read_text() != text:
            complaints.append(f"{path.relative_to(top)} says otherwise; Tests/Providers/run --write updates it")
    return complaints
