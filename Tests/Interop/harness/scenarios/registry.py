"""What is tried at every provider, in the order of the table. A scenario returns nothing, or raises Failure."""

from webdriver import BROWSERS

SCENARIOS = []


def scenario(name, title, browsers=tuple(BROWSERS)):
    """`browsers` names those that it is repeated with; none: it opens no page, but may use a session of another."""

    def register(function):
        function.name, function.title, function.browsers = name, title, browsers
        SCENARIOS.append(function)
        return function

    return register
