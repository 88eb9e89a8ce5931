"""The card behind the pictures of these pages that are written as SVG by hand."""

from __future__ import annotations


def card(
    width: int, height: int, label: str, *, fill: str = "#ffffff", edge: str = "#8b949e"
) -> list[str]:
    """Open a picture of that size with a card that fills it.

    Parameters
    ----------
    width, height : int
        Size of the picture in pixels.
    label : str
        Text for readers who do not see the picture.
    fill : str
        Colour of the card.
    edge : str
        Colour of its edge; empty for a card without an edge.

    Returns
    -------
    list of str
        Two lines of SVG. The caller adds the content and closes the picture.
    """
    stroke = f' stroke="{edge}"' if edge else ""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{label}">',
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="10" '
        f'fill="{fill}"{stroke}/>',
    ]
