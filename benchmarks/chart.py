from pathlib import Path

RECORD = Path("x")


def update(record): ...
