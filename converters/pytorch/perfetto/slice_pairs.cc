#include "converters/pytorch/perfetto/slice_pairs.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace reprise::pytorch {
namespace {

bool IsInOrderOfTime(const std::vector<SliceHalf>& halves) {
  std::unordered_map<std::uint32_t, std::int64_t> last_ns;  // by track
  return std::all_of(halves.begin(), halves.end(), [&last_ns](const SliceHalf& half) {
    const auto [last, first] = last_ns.try_emplace(half.track, half.at_ns);
    const bool later = half.at_ns >= last->second;
    last->second = half.at_ns;
    return later;
  });
}

// The begins of a track that have no end yet.
struct OpenSlices {
  std::vector<std::size_t> begins;
  std::size_t first = 0;
};

// False: an end without a begin, before its begin, or a begin without an end.
bool PairHalves(bool by_time, std::vector<SliceHalf>& halves) {
  std::unordered_map<std::uint32_t, OpenSlices> tracks;
  bool sound = true;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    SliceHalf& half = halves[i];
    OpenSlices& open = tracks[half.track];
    if (half.begins) {
      open.begins.push_back(i);
      continue;
    }
    if (open.first == open.begins.size()) {
      sound = false;
      continue;
    }
    const SliceHalf& begin = halves[by_time ? open.begins.back() : open.begins[open.first]];
    if (by_time) {
      open.begins.pop_back();
    } else {
      ++open.first;
    }
    sound = sound && begin.at_ns <= half.at_ns;
    half.slice = begin.slice;
  }
  return sound && std::all_of(tracks.begin(), tracks.end(), [](const auto& track) {
           return track.second.first == track.second.begins.size();
         });
}

}  // namespace

void PairSlices(std::vector<SliceHalf>& halves) {
  const bool by_time = IsInOrderOfTime(halves);
  if (!PairHalves(by_time, halves) && !by_time) {
    for (SliceHalf& half : halves) {
      half.slice = half.begins ? half.slice : -1;
    }
  }
}

}  // namespace reprise::pytorch
