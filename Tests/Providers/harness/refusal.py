"""An error in the provider's own words."""


class Refusal(Exception):
    def __init__(self, error, description="", status=None):
        super().__init__(error)
        self.error, self.description, self.status = error, description, status
