"""Dev figures on the device that trained: all dev queries against all domains by MaxSim, int8."""
import numpy as np
import torch

from retrieval import all_maxsim, encode_all, figures



class DevFigures:
    """Read after training only; nothing of it reaches a model."""

    def __init__(self, folder, device, kind, few=False):
        self.device, self.kind = device, kind
        arrays = np.load(folder / "domains.npz")
        offsets = np.concatenate([[0], np.cumsum(arrays["lengths"].astype(np.int64))])
        self.offsets = offsets
        self.sequences = [arrays["tokens"][a:b] for a, b in zip(offsets[:-1], offsets[1:])]
        keys = ("family", "superfamily", "group")
        self.labels = {key: torch.from_numpy(arrays[key].astype(np.int64)).to(device) for key in keys}
        self.labels["catch_all"] = torch.from_numpy(arrays["catch_all"].astype(bool)).to(device)
        self.queries = torch.from_numpy(np.flatnonzero(arrays["dev"])).to(device)
        if few:
            self._keep_few()
        path = folder / "families.npz"
        self.has_families = path.exists() and not few
        if self.has_families:
            families = np.load(path)
            self.families = {key: families[key] for key in families.files}

    def _keep_few(self):
        """Every 60th dev domain, among themselves, to try the script on a processor."""
        kept = self.queries[::60]
        self.sequences = [self.sequences[at] for at in kept.tolist()]
        self.labels = {key: value[kept] for key, value in self.labels.items()}
        self.queries = torch.arange(len(kept), device=self.device)

    @torch.no_grad()
    def of(self, model, families):
        vectors = encode_all(model, self.sequences, self.device, self.kind)
        if families:
            vectors = self.averaged(model, vectors)
        return self.figures(vectors)

    def figures(self, vectors):
        scores = all_maxsim([vectors[at] for at in self.queries.tolist()], vectors)
        return {key: round(value, 4) for key, value in figures(scores, self.queries, self.labels).items()}

    def averaged(self, model, own):
        """Each residue's mean with its relatives' vectors, weighted; relatives of dev domains are unlabelled."""
        data = self.families
        weights = torch.from_numpy(data["own_weights"].astype(np.float32)).to(self.device)
        sums = torch.cat([v * weights[at] for at, v in enumerate(own)])
        offsets = np.concatenate([[0], np.cumsum(data["lengths"].astype(np.int64))])
        columns = np.cumsum(data["steps"].astype(np.int64))
        crops = [data["tokens"][a:b] for a, b in zip(offsets[:-1], offsets[1:])]
        order = np.argsort([len(crop) for crop in crops], kind="stable")
        for chunk in np.array_split(order, max(1, len(order) // 20000)):
            found = encode_all(model, [crops[at] for at in chunk], self.device, self.kind)
            places = np.concatenate([columns[offsets[at] : offsets[at + 1]] for at in chunk])
            places = torch.from_numpy(places).to(self.device)
            shares = np.concatenate([np.full(len(crops[at]), data["weights"][at], np.float32) for at in chunk])
            values = torch.cat(found) * torch.from_numpy(shares).to(self.device)[:, None]
            known = places >= 0
            sums.index_add_(0, places[known], values[known])
        unit = torch.nn.functional.normalize(sums, dim=1, eps=1e-9)
        quantised = (unit * 173).round().clamp(-127, 127) / 173
        return [quantised[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:])]
