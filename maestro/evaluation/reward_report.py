"""Write what is known of a reward model as one HTML file that needs no server, no network and no other file."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

from maestro.rewards.files import Card


def render_reward(card: Card, figures: dict[str, Any], play: dict[str, Any] | None, source: str) -> str:
    """Render the report; `figures` are those of `rewards.report.look`, `play` those of `paid.highest_paid`."""
    import jinja2

    text = resources.files("maestro.evaluation").joinpath("reward_report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(text).render(
        card=card,
        facts=facts(card, figures),
        plots=_plots(card, figures),
        play=play,
        extremes=[("Paid most", figures["top"]), ("Paid least", figures["bottom"])],
        provenance=_provenance(card, source),
    )


def facts(card: Card, figures: dict[str, Any]) -> list[tuple[str, str]]:
    """List the figures that matter, worded."""
    held, rules = card.held_out, figures["rules"]
    found = [
        (
            "held-out accuracy",
            f"{_percent(held['accuracy'])} of {held['decided_pairs']:,} pairs that are no ties "
            f"(captions the model was not fitted to; annotator: {card.annotator})",
        ),
        ("held-out calibration error", _percent(held["calibration_error"])),
        ("held-out loss", "unknown" if held["loss"] is None else f"{held['loss']:.4f}"),
    ]
    if rules is not None:
        found.append(
            ("agreement with rules", f"{_percent(rules['agreement'])} of {rules['decided_pairs']:,} pairs")
        )
    threshold = "none" if card.threshold is None else f"{card.threshold:.3f}"
    return [
        *found,
        (
            "threshold",
            f"{threshold} ({_threshold_rule(card)})",
        ),
        ("paid captions", f"{_percent(figures['paid_share'])} of {figures['captions']:,} distinct ones"),
        ("network", f"{card.num_parameters:,} parameters, {card.num_models} model(s)"),
    ]


def _threshold_rule(card: Card) -> str:
    quantile = f"quantile {card.threshold_quantile:g} of the rewards of distinct captions"
    if card.nothing is None or card.threshold_certainty is None:
        return quantile
    return (
        f"the highest of 0, the {quantile}, and what is better than nothing happening ({card.nothing:.3f}) "
        f"with a probability of {card.threshold_certainty:.0%}"
    )


def _provenance(card: Card, source: str) -> list[tuple[str, str]]:
    settings = {name: value for name, value in card.fit.items() if name != "curve"}
    return [
        ("captions shown", source),
        ("judged pairs", ", ".join(f"{name} {value}" for name, value in card.data.items())),
        ("annotation", ", ".join(f"{name}: {value}" for name, value in card.annotation.items())),
        ("fit", ", ".join(f"{name} {value}" for name, value in settings.items())),
        ("weights", card.weights_sha256),
        ("maestro", card.maestro_version),
    ]


def _plots(card: Card, figures: dict[str, Any]) -> list[dict[str, Any]]:
    histogram = figures["histogram"]
    edges = histogram["edges"]
    found = [
        {
            "title": "Rewards of distinct captions",
            "svg": _safe(_histogram(histogram, card.threshold)),
            "low": f"{edges[0]:.2f}",
            "axis": "normalised reward",
            "high": f"{edges[-1]:.2f}",
            "text": "Heights are square roots of counts. The upright line is the threshold: what lies left of it is not paid.",
        }
    ]
    curves = [("Calibration on held-out pairs", card.held_out["calibration"])]
    if figures["rules"] is not None:
        curves.append(("Reliability against the rules", figures["rules"]["reliability"]))
    for title, curve in curves:
        if curve["count"]:
            found.append(
                {
                    "title": title,
                    "svg": _safe(_reliability(curve)),
                    "low": "0",
                    "axis": "predicted probability that the second is preferred",
                    "high": "1",
                    "text": "Height: how often it was preferred. On the line the two agree; dots are larger for more pairs.",
                }
            )
    return found


def _histogram(histogram: dict[str, Any], threshold: float | None) -> str:
    counts, edges = histogram["counts"], histogram["edges"]
    tallest, step = max(counts) ** 0.5 or 1.0, 100 / len(counts)
    parts = []
    for number, count in enumerate(counts):
        height = 60 * count**0.5 / tallest
        text = f"{edges[number]:.2f} to {edges[number + 1]:.2f}: {count} captions"
        parts.append(
            f'<rect class="own" x="{number * step:.2f}" y="{60 - height:.2f}" width="{0.9 * step:.2f}" height="{height:.2f}">'
            f"<title>{escape(text)}</title></rect>"
        )
    if threshold is not None and edges[-1] > edges[0]:
        x = 100 * min(max((threshold - edges[0]) / (edges[-1] - edges[0]), 0.0), 1.0)
        parts.append(f'<line class="mark" x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="60"/>')
    return (
        f'<svg viewBox="0 0 100 60" height="160" preserveAspectRatio="none" role="img">{"".join(parts)}</svg>'
    )


def _reliability(curve: dict[str, Any]) -> str:
    most = max(curve["count"])
    parts = ['<line class="line" x1="0" x2="100" y1="60" y2="0"/>']
    for predicted, observed, count in zip(curve["predicted"], curve["observed"], curve["count"], strict=True):
        text = f"predicted {predicted:.2f}, observed {observed:.2f}, {count} pairs"
        parts.append(
            f'<circle class="own" cx="{100 * predicted:.2f}" cy="{60 - 60 * observed:.2f}" r="{1 + 1.6 * (count / most) ** 0.5:.2f}">'
            f"<title>{escape(text)}</title></circle>"
        )
    return f'<svg viewBox="-3 -3 106 66" role="img">{"".join(parts)}</svg>'


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2%}"


def _safe(svg: str):
    """Mark a plot as HTML; the text it holds was escaped when it was drawn."""
    import markupsafe

    return markupsafe.Markup(svg)
