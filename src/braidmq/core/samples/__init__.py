"""Figures of the last day: what the node, its busy topics and its groups did, kept in the store and asked for by step.

One idea: nothing is measured for it. Every ten seconds a `Looker` takes the difference of what the counters say, which
count anyway, and puts it together with what others know (lag, sizes, the disk) as a `Sight`. Samples, alarms,
inspection and live pages are all made of sights.
"""

from braidmq.core.samples._looker import Looker, Parts
from braidmq.core.samples._sampler import Sampler
from braidmq.core.samples._samples import Point, SampleAsk, Samples, SamplesView, Series
from braidmq.core.samples._sight import FIGURES, GroupSight, Sight, TopicSight

__all__ = [
    "FIGURES",
    "GroupSight",
    "Looker",
    "Parts",
    "Point",
    "SampleAsk",
    "Sampler",
    "Samples",
    "SamplesView",
    "Series",
    "Sight",
    "TopicSight",
]
