"""``torch.utils.model_zoo``: older names of `hub`'s downloads."""

from ..hub import load_state_dict_from_url

load_url = load_state_dict_from_url
