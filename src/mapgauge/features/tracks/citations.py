"""What to cite for the metrics and rules of this feature."""

from mapgauge.metrics.citations import MAPTRACKER, SOFTWARE, Citation

STABILITY = Citation(
    entry="""\
% Read at https://www.sciencestack.ai/paper/2510.10660
@article{shan2025stability,
  title = {Stability Under Scrutiny: Benchmarking Representation Paradigms for Online HD Mapping},
  author = {Hao Shan and Ruikai Li and Han Jiang and Yizhe Fan and Ziyang Yan and Bohan Li and Xiaoshuai Hao and Hao\
 Zhao and Zhiyong Cui and Yilong Ren and Haiyang Yu},
  journal = {arXiv preprint arXiv:2510.10660},
  year = {2025}
}""",
    uses=("mas", "rules:mas"),
    order=110,
)

TRACKED = MAPTRACKER.cited_for("c_map", "rules:maptracker")
OWN = SOFTWARE.cited_for("track_pld")
