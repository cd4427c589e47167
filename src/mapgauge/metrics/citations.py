"""What to cite for metrics, rules, data and splits: BibTeX, with a comment that says where an entry was read."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """An entry of BibTeX, and what it is cited for."""

    entry: str  # it may begin with lines of comment
    # Names of metrics, "rules:maptr" for the protocols maptr and maptr-..., "data:nuscenes", "split:new", "software".
    uses: tuple[str, ...] = ()
    order: int = 1000  # where entries are printed: lower numbers come first

    def cited_for(self, *uses: str) -> "Citation":
        """Return the same entry for other uses.

        >>> SOFTWARE.cited_for("pld").uses
        ('pld',)
        """
        return replace(self, uses=uses)


PAPER = Citation(
    entry="""\
% Read at https://arxiv.org/html/2605.22578v1
@article{bencheikh2026beyond,
  title = {Beyond Chamfer Distance: Granular Order-aware Evaluation Metric For Online Mapping},
  author = {Bencheikh Lehocine, Chouaib and Lilja, Adam and Fu, Junsheng and Hammarstrand, Lars},
  journal = {arXiv preprint arXiv:2605.22578},
  year = {2026}
}""",
    uses=("pld", "ap_sospa", "rules:paper"),
    order=10,
)

SOFTWARE = Citation(
    entry="""\
% Read in its file CITATION.cff
@software{mapgauge,
  title = {mapgauge},
  author = {{The mapgauge authors}},
  version = {VERSION}
}""",
    uses=("software", "completeness", "causes", "rules:even"),
    order=20,
)

HDMAPNET = Citation(
    entry="""\
% Read at https://github.com/Tsinghua-MARS-Lab/HDMapNet/blob/2194a9432e311e5e9b308de42e460aeb85b330f3/README.md
@misc{li2021hdmapnet,
  title = {HDMapNet: An Online HD Map Construction and Evaluation Framework},
  author = {Qi Li and Yue Wang and Yilun Wang and Hang Zhao},
  year = {2021},
  eprint = {2107.06307},
  archivePrefix = {arXiv},
  primaryClass = {cs.CV}
}""",
    uses=("ap_chamfer",),
    order=30,
)

MAPTR = Citation(
    entry="""\
% Read at https://github.com/hustvl/MapTR/blob/695319f414ace1c5a493f1c82e08f95502391b8d/README.md
@inproceedings{liao2023maptr,
  title = {MapTR: Structured Modeling and Learning for Online Vectorized HD Map Construction},
  author = {Liao, Bencheng and Chen, Shaoyu and Wang, Xinggang and Cheng, Tianheng and Zhang, Qian and Liu, Wenyu \
and Huang, Chang},
  booktitle = {International Conference on Learning Representations},
  year = {2023}
}""",
    uses=("rules:maptr",),
    order=50,
)

MAPTRV2 = Citation(
    entry="""\
% Read at https://github.com/hustvl/MapTR/blob/695319f414ace1c5a493f1c82e08f95502391b8d/README.md
@article{liao2023maptrv2,
  title = {MapTRv2: An End-to-End Framework for Online Vectorized HD Map Construction},
  author = {Liao, Bencheng and Chen, Shaoyu and Zhang, Yunchi and Jiang, Bo and Zhang, Qian and Liu, Wenyu and \
Huang, Chang and Wang, Xinggang},
  journal = {arXiv preprint arXiv:2308.05736},
  year = {2023}
}""",
    uses=("rules:maptr",),
    order=60,
)

BEMAPNET = Citation(
    entry="""\
% Read at https://github.com/er-muyue/BeMapNet/blob/616fccb4f2ac56a134ba882753b13af12d8d09cf/README.md
@inproceedings{qiao2023bemapnet,
  title = {End-to-End Vectorized HD-Map Construction With Piecewise Bezier Curve},
  author = {Qiao, Limeng and Ding, Wenjie and Qiu, Xi and Zhang, Chi},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
  pages = {13218--13228},
  year = {2023}
}""",
    uses=("rules:maptr-hard", "rules:hard"),
    order=70,
)

STREAMMAPNET = Citation(
    entry="""\
% Read at https://github.com/yuantianyuan01/StreamMapNet/blob/28ed321dcddf0c08b09e78e00912c5eae01de9a1/README.md \
(title,
% conference, arXiv number) and in the lists of references of three other public repositories (authors)
@inproceedings{yuan2024streammapnet,
  title = {StreamMapNet: Streaming Mapping Network for Vectorized Online HD Map Construction},
  author = {Yuan, Tianyuan and Liu, Yicheng and Wang, Yue and Wang, Yilun and Zhao, Hang},
  booktitle = {WACV},
  note = {arXiv:2308.12570},
  year = {2024}
}""",
    uses=("rules:streammapnet", "rules:hard", "split:new"),
    order=80,
)

MAPTRACKER = Citation(
    entry="""\
% Read at https://github.com/woodfrog/maptracker/blob/21804aefc0b268afc3f86bf887ee5697ce8235e5/README.md
@article{chen2024maptracker,
  title = {MapTracker: Tracking with Strided Memory Fusion for Consistent Vector HD Mapping},
  author = {Chen, Jiacheng and Wu, Yuefan and Tan, Jiaqi and Ma, Hang and Furukawa, Yasutaka},
  journal = {arXiv preprint arXiv:2403.15951},
  year = {2024}
}""",
    uses=(),
    order=90,
)

OPENLANEV2 = Citation(
    entry="""\
% Read at https://github.com/OpenDriveLab/TopoNet/blob/02246f663a89d820a8735ff34ce5a51ecc5f45b2/README.md
@inproceedings{wang2023openlanev2,
  title = {OpenLane-V2: A Topology Reasoning Benchmark for Unified 3D HD Mapping},
  author = {Wang, Huijie and Li, Tianyu and Li, Yang and Chen, Li and Sima, Chonghao and Liu, Zhenbo and Wang, \
Bangjun and Jia, Peijin and Wang, Yuting and Jiang, Shengyin and Wen, Feng and Xu, Hang and Luo, Ping and Yan, \
Junchi and Zhang, Wei and Li, Hongyang},
  booktitle = {NeurIPS},
  year = {2023}
}""",
    uses=("ap_frechet", "data:openlanev2"),
    order=120,
)

NUSCENES = Citation(
    entry="""\
% Read at https://github.com/nutonomy/nuscenes-devkit/blob/00db07d35594f3244adf415d277de4327813d143/README.md
@article{nuscenes2019,
  title = {nuScenes: A multimodal dataset for autonomous driving},
  author = {Holger Caesar and Varun Bankiti and Alex H. Lang and Sourabh Vora and Venice Erin Liong and Qiang Xu and\
 Anush Krishnan and Yu Pan and Giancarlo Baldan and Oscar Beijbom},
  journal = {arXiv preprint arXiv:1903.11027},
  year = {2019}
}""",
    uses=("data:nuscenes",),
    order=180,
)

ARGOVERSE2 = Citation(
    entry="""\
% Read at https://github.com/argoverse/av2-api/blob/0398b3107a01d7cc47c1f4a2060a208a95e02881/README.md
@inproceedings{argoverse2,
  title = {Argoverse 2: Next Generation Datasets for Self-Driving Perception and Forecasting},
  author = {Benjamin Wilson and William Qi and Tanmay Agarwal and John Lambert and Jagjeet Singh and Siddhesh \
Khandelwal and Bowen Pan and Ratnesh Kumar and Andrew Hartnett and Jhony Kaesemodel Pontes and Deva Ramanan and \
Peter Carr and James Hays},
  booktitle = {Proceedings of the Neural Information Processing Systems Track on Datasets and Benchmarks (NeurIPS \
Datasets and Benchmarks 2021)},
  year = {2021}
}""",
    uses=("data:argoverse2",),
    order=190,
)
