"""What to cite for the metrics and rules of this feature."""

from mapgauge.metrics.citations import OPENLANEV2, Citation

LANESEGNET = Citation(
    entry="""\
% Read at https://github.com/OpenDriveLab/LaneSegNet/blob/0b06e94d85000c4a706c29e84bfa0bcb5c33907f/README.md
@inproceedings{li2023lanesegnet,
  title = {LaneSegNet: Map Learning with Lane Segment Perception for Autonomous Driving},
  author = {Li, Tianyu and Jia, Peijin and Wang, Bangjun and Chen, Li and Jiang, Kun and Yan, Junchi and Li, \
Hongyang},
  booktitle = {ICLR},
  year = {2024}
}""",
    uses=("det_ls", "det_a", "olus"),
    order=130,
)

PERSFORMER = Citation(
    entry="""\
% Read at https://arxiv.org/abs/2203.11089, in a public copy of the text
@article{chen2022persformer,
  title = {PersFormer: 3D Lane Detection via Perspective Transformer and the OpenLane Benchmark},
  author = {Li Chen and Chonghao Sima and Yang Li and Zehan Zheng and Jiajie Xu and Xiangwei Geng and Hongyang Li \
and Conghui He and Jianping Shi and Yu Qiao and Junchi Yan},
  journal = {arXiv preprint arXiv:2203.11089},
  year = {2022}
}""",
    uses=("f_lane",),
    order=140,
)

LANES = OPENLANEV2.cited_for(
    "det_l",
    "det_l_ch",
    "det_t",
    "top_ll",
    "top_lt",
    "ols",
    "ols_l",
    "det_ls",
    "det_a",
    "olus",
    "f_lane",
    "rules:openlanev2",
)
