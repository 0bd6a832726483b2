"""AMD's MIOpen: its switch is accepted, without effect."""

from .switches import define as _define

_define(globals(), {"immediate": False}, {"immediate": False})
