"""What to cite for the metrics and rules of this feature."""

from mapgauge.metrics.citations import SOFTWARE, Citation

CGNET = Citation(
    entry="""\
% Read at https://github.com/XiaoMi/CGNet/blob/344a3283ccd77872853d8399cea51ccaed7496d0/README.md
@misc{han2024cgnet,
  title = {Continuity Preserving Online CenterLine Graph Learning},
  author = {Yunhui Han and Kun Yu and Zhiwei Li},
  year = {2024},
  eprint = {2407.11337},
  archivePrefix = {arXiv},
  primaryClass = {cs.CV}
}""",
    uses=("geo", "jtopo", "sda", "topo", "apls", "rules:cgnet-graph"),
    order=150,
)

TOPO_PAPER = Citation(
    entry="""\
% Read in the lists of references of seven public repositories
@article{biagioni2012inferring,
  title = {Inferring Road Maps from Global Positioning System Traces: Survey and Comparative Evaluation},
  author = {Biagioni, James and Eriksson, Jakob},
  journal = {Transportation Research Record},
  volume = {2291},
  number = {1},
  pages = {61--71},
  year = {2012}
}""",
    uses=("topo",),
    order=160,
)

APLS_PAPER = Citation(
    entry="""\
% Read in the lists of references of eight public repositories
@article{vanetten2018spacenet,
  title = {SpaceNet: A Remote Sensing Dataset and Challenge Series},
  author = {Van Etten, A. and Lindenbaum, D. and Bacastow, T. M.},
  journal = {arXiv preprint arXiv:1807.01232},
  year = {2018}
}""",
    uses=("apls",),
    order=170,
)

OWN = SOFTWARE.cited_for("reach", "rules:graph")
