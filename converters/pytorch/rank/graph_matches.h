// Which node of which recorded graph each kernel of a graph's launches is.
#pragma once

#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// Numbers the graphs that were launched (EventLink::graph) and compares each with the recordings of
// this capture and `others`. The k-th kernel of a launch is the k-th node of the recording: in the
// order of CUDA's node ids, else of start. All kernels and nodes must agree:
// - where the recording has kernels' names, they are the same;
// - else their number, what is a copy or a fill, and no kernel is one that its operator can't
//   launch, by the classes of both.
// A launch that lacks up to 1 % of a named recording's kernels, which profilers lose, gets those
// that have only one place (`graph_match_partial`). Where several recordings agree, the launch gets
// what all of them say of a node (`graph_recording_ambiguous` if they differ). Other launches stay
// as they are (`graph_launch_unknown`, if there was any recording). Sets EventLink::recorded and
// counts `graph_kernel_recorded`.
//
// Kernels of launches that no recording fits get what their eager twins have (graph_twins.h), here
// or in `others`: `graph_kernel_inferred`.
//
// Tensors of recordings get identities beside those of this capture.
void MatchGraphs(const GraphSources& others, RankCapture& rank);

}  // namespace reprise::pytorch
