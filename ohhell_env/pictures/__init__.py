"""Pictures of tables and games: SVG, HTML, pixels, and a page that replays a game.

>>> from ohhell_env import Game
>>> from ohhell_env.pictures import table_svg
>>> table_svg(Game("oh_hell", seed=7), seat=0).startswith("<svg")
True
"""

from ohhell_env.pictures.frame import pixels, png
from ohhell_env.pictures.html import game_html, replay_frame, sheet_html
from ohhell_env.pictures.page import replay_page
from ohhell_env.pictures.svg import table_svg

__all__ = ["game_html", "pixels", "png", "replay_frame", "replay_page", "sheet_html", "table_svg"]
