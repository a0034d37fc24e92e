"""Pictures of tables and games: SVG, HTML, frames of pixels, a page that replays a game."""
