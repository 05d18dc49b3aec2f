// Numbers by which a rank's nodes name what they share, storages for instance, once parts of its
// program are more or fewer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "predict/rescale/repetition.h"

namespace reprise {

// What the same place of two neighbouring parts names is there for all of them, as a parameter is
// for micro-batches, and keeps its number. Everything else is of the part whose node names it
// first: its number moves with that node, and copies of the node have numbers of their own. What
// was there before the trace is of the first part that names it, even if something else does so
// before.
class MovedIds {
 public:
  // `places` must outlive it. Negative numbers stand for nothing.
  explicit MovedIds(const Repetition& places) : places_(places) {}

  // What the node at the next place names, in the order in which it does; `inputs`: how many of
  // them may have been there before.
  void Add(std::span<const std::int64_t> ids, std::size_t inputs);
  // In the result, what a node names that is `from`, where the node that it is or copies names
  // `id`.
  [[nodiscard]] std::int64_t Of(const RepeatedPlace& from, std::int64_t id);
  // The place whose node it is of. Nothing: it is there for all parts.
  [[nodiscard]] std::optional<std::uint32_t> PlaceOf(std::int64_t id) const;
  // What that node's copy, or the node at the same place of another part, names instead.
  [[nodiscard]] std::int64_t NamedBy(const RepeatedPlace& one, std::int64_t id);
  // A new number for what is to copies of layers, say, as `id` is to a recorded one.
  [[nodiscard]] std::int64_t Fresh(std::int64_t id, std::int64_t copy);
  // Of() of all that a copy's source names. Once for each copy, before the first question: numbers
  // then come in the order of the program.
  void Make(const RepeatedPlace& copy);
  // By number that copies have: what it is a copy of.
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& made() const { return source_; }

 private:
  // What is there for the first or last part alone, where the part next to it names its own.
  [[nodiscard]] std::optional<std::int64_t> LikeTwin(const RepeatedPlace& from, std::int64_t id);
  struct Origin {
    std::uint32_t place = 0;
    std::size_t ordinal = 0;  // among what the place names
    bool was_there = false;   // before the trace, perhaps
  };
  // What the node at a place named first, at this position; -1: nothing.
  [[nodiscard]] std::int64_t FirstNamedAt(std::uint32_t place, std::size_t ordinal) const;

  const Repetition& places_;
  std::vector<std::int64_t> ids_;         // of all places
  std::vector<std::size_t> begin_ = {0};  // of each place in ids_
  std::unordered_map<std::int64_t, Origin> origin_;
  std::unordered_set<std::int64_t> lasting_;
  std::int64_t next_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> made_;  // by number and copy
  std::map<std::int64_t, std::int64_t> source_;
};

}  // namespace reprise
