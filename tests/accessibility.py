"""What axe-core finds on a page in a browser."""


def serious(page) -> dict[str, list[str]]:
    """The rules of axe-core that a page breaks seriously, with the elements that break each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return {
        one["id"]: [node["html"] for node in one["nodes"]]
        for one in found
        if one["impact"] in ("serious", "critical")
    }
