// Tracks, slices on them, arrows between slices, and counters, ready to draw. Made from a trace or
// from a run; written by report/perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reprise {

struct Timeline {
  using Index = std::uint32_t;
  static constexpr Index kNoTrack = UINT32_MAX;

  enum class TrackKind : std::uint8_t {
    kProcess,  // a rank: no parent
    kThread,   // a host thread: its parent is a process
    kPlain,    // anything else with slices, and what only groups other tracks
    kCounter,  // points instead of slices
  };
  // A parent stands before its children in `tracks`.
  struct Track {
    std::string name;
    TrackKind kind = TrackKind::kPlain;
    Index parent = kNoTrack;
    std::int32_t order = 0;  // among its siblings
    std::int64_t id = 0;     // process: rank; thread: the trace's thread number
    std::string unit;        // counters: "watts", "bytes", …
  };
  using AnnotationValue = std::variant<std::int64_t, double, bool, std::string>;
  struct Annotation {
    std::string name;
    AnnotationValue value;
  };
  // Slices of a track may overlap (a writer puts these on further lanes) and may last 0 ns.
  struct Slice {
    Index track = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::string name;
    std::string category;  // the class of an operation, "step", …
    std::vector<Annotation> annotations;
  };
  // From one slice to another that waits for it; both are indices into `slices`. Where both begin
  // at the same time, the lower index is the earlier one.
  struct Flow {
    Index from = 0;
    Index to = 0;
  };
  // A counter's value from this time on.
  struct Point {
    Index track = 0;
    std::int64_t time_ns = 0;
    double value = 0;
  };

  std::vector<Track> tracks;
  std::vector<Slice> slices;
  std::vector<Flow> flows;
  std::vector<Point> points;

  Index Add(Track track) {
    tracks.push_back(std::move(track));
    return static_cast<Index>(tracks.size() - 1);
  }
  Index Add(Slice slice) {
    slices.push_back(std::move(slice));
    return static_cast<Index>(slices.size() - 1);
  }
};

}  // namespace reprise
