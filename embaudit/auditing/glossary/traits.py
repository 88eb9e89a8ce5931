"""Codes of what the rows themselves are like, whatever they predict (EMB4xx)."""

from __future__ import annotations

from embaudit.auditing.glossary.entry import Code

OF_TRAITS: tuple[Code, ...] = ()
