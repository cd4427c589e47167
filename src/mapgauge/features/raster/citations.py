"""What to cite for the metrics and rules of this feature."""

from mapgauge.metrics.citations import HDMAPNET, MAPTRACKER, Citation

MAPVR = Citation(
    entry="""\
% Read at https://ar5iv.labs.arxiv.org/html/2306.10502
@article{zhang2023mapvr,
  title = {Online Map Vectorization for Autonomous Driving: A Rasterization Perspective},
  author = {Gongjie Zhang and Jiahao Lin and Shuang Wu and Yilin Song and Zhipeng Luo and Yang Xue and Shijian Lu \
and Zuoguan Wang},
  journal = {arXiv preprint arXiv:2306.10502},
  year = {2023}
}""",
    uses=("raster_ap", "raster_frame_iou", "rules:mapvr"),
    order=40,
)

PMAPNET = Citation(
    entry="""\
% Read at https://github.com/jike5/P-MapNet/blob/0dd10154796bb2e4903a3ce481009609d9d9924d/README.md
@misc{jiang2024pmapnet,
  title = {P-MapNet: Far-seeing Map Generator Enhanced by both SDMap and HDMap Priors},
  author = {Zhou Jiang and Zhenxin Zhu and Pengfei Li and Huan-ang Gao and Tianyuan Yuan and Yongliang Shi and Hang \
Zhao and Hao Zhao},
  year = {2024},
  eprint = {2403.10521},
  archivePrefix = {arXiv},
  primaryClass = {cs.CV}
}""",
    uses=("rules:pmapnet",),
    order=100,
)

RASTERS = HDMAPNET.cited_for("raster_iou", "rules:hdmapnet")
TRACKED_RASTERS = MAPTRACKER.cited_for("rules:maptracker")
