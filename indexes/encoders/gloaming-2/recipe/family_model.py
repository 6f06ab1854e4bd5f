"""The encoder that reads profiles: gloaming-1, and channels of the family beside the letter."""
import torch
from torch import nn
from torch.nn import functional as F

from model import Encoder
from profiles import CHANNELS, KINDS

MIXED = 128


class FamilyEncoder(Encoder):
    """For proteins of which relatives are known; all others are left to gloaming-1, whose space this one shares."""

    def __init__(self, **settings):
        super().__init__(**settings)
        width = self.settings["width"]
        self.profile = nn.Conv1d(CHANNELS, width, self.stem.kernel_size, padding=self.stem.padding, bias=False)
        self.profile_mix = nn.Conv1d(CHANNELS, MIXED, 5, padding=2)
        self.profile_up = nn.Conv1d(MIXED, width, 1, bias=False)
        nn.init.zeros_(self.profile.weight)
        nn.init.zeros_(self.profile_up.weight)

    @torch.no_grad()
    def read_mean_letters(self):
        """Begins the channels' weights so that the stem sees the mean of the family's letters in place of one."""
        letters = self.embed.weight[:KINDS]
        self.profile.weight[:, :KINDS] = torch.einsum("wsk,as->wak", self.stem.weight, letters)

    def new_parameters(self):
        return [self.profile.weight, *self.profile_mix.parameters(), self.profile_up.weight]

    def hidden(self, ids, mask, profile):
        symbols = self.embed(ids).transpose(1, 2) * mask
        mixed = self.profile_up(F.relu(self.profile_mix(profile)))
        return self.trunk(self.stem(symbols) + self.profile(profile) + mixed * mask, mask)

    def forward(self, input_ids, attention_mask, profile):
        """profile: float32 [batch, length, CHANNELS] (profiles.py), zero where there is padding."""
        mask = attention_mask.unsqueeze(1).to(self.project.weight.dtype)
        return self.vectors(self.hidden(input_ids, mask, profile.transpose(1, 2))).transpose(1, 2)


def load_family_encoder(path):
    """The encoder of a model.pt; of gloaming-1's, one that begins with mean letters."""
    state = torch.load(path, map_location="cpu")
    encoder = FamilyEncoder(**state["settings"])
    missing, _ = encoder.load_state_dict(state["weights"], strict=False)
    if len(missing) == len(encoder.new_parameters()):
        encoder.read_mean_letters()
    elif missing:
        raise ValueError(f"{path} lacks {missing}")
    return encoder
