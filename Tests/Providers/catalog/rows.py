"""The stand-ins: one row for each preset, with the document that its behavior is taken from."""

from apis import APIS
from identity import IDENTITY
from servers import SERVERS

ROWS = sorted(IDENTITY + APIS + SERVERS, key=lambda row: row.name)
