// Which end of a slice belongs to which begin: packets name only the track.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::pytorch {

struct SliceHalf {
  std::int64_t at_ns = 0;
  std::int64_t slice = -1;  // a begin's own number; an end's: of its begin, -1: not known
  std::uint32_t track = 0;
  bool begins = false;
};

// Sets the ends' slices. `halves` are in the order of the file.
//
// Perfetto's own order is by time, track by track: an end closes what began last. PyTorch writes
// all begins of a group and then their ends in the same order; there, the n-th end is of the n-th
// begin, which times do not tell where one slice begins as another ends. A file in neither order
// keeps its ends without a number: times have to say it.
void PairSlices(std::vector<SliceHalf>& halves);

}  // namespace reprise::pytorch
