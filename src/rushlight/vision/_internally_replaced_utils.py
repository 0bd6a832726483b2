"""``torchvision._internally_replaced_utils``: where copies of torchvision's models import the download of weights from."""

from rushlight.hub import load_state_dict_from_url as load_state_dict_from_url
