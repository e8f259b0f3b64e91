"""Whether the stand-ins show what they are for."""

from case import Failure, expect
from scenarios import refresh

# Settings of a preset without which its stand-in must not work: or else the stand-in shows nothing.
QUIRKS = {"extra_authorize_params", "token_request_format", "refresh_endpoint", "token_type", "nonce", "prompt",
          "metadata_url", "port", "redirect_uri"}


class Needed:
    """A preset's profile without one of its settings does not work."""

    def __init__(self, setting):
        self.name = f"without {setting}"
        self.setting = setting

    def __call__(self, case):
        case.without, case.timeout = self.setting, 1
        try:
            refresh(case)
        except (Failure, RuntimeError):
            return
        expect(False, f"the stand-in works without {self.setting}, so it does not show what that is for")


def needed(setups):
    """What to do without, by the profiles that were made."""
    # `prompt: off` spares users a consent page; no sign-in fails without it.
    return [(name, Needed(setting)) for name, setup in setups.items() for setting, value in setup["settings"].items()
            if setting in QUIRKS and (setting, value) != ("prompt", "off")]
