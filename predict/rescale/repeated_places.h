// Where nodes are in a rank's program once its micro-batches are more or fewer.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "predict/rescale/micro_batches.h"

namespace reprise {

// A node of the result: a recorded one, by its place in the program's order, or a copy of it.
struct RepeatedPlace {
  std::uint32_t place = 0;
  std::int64_t copy = -1;  // number of the new part, in its step; -1: the recorded node
  bool operator==(const RepeatedPlace&) const = default;
};

// New parts come right after the last of those that were found one after the other; where there
// are fewer, the last ones are left out. Nodes with the same work as one of a part are counted from
// there on, forwards and backwards: the first one micro-batch before, the second, and so on.
class RepeatedPlaces {
 public:
  // `more`: as RepeatedNodes has it; not fewer than −MicroBatchParts::times. `found` must outlive
  // it.
  RepeatedPlaces(const MicroBatches& found, std::int64_t more);

  [[nodiscard]] std::int64_t more() const { return more_; }
  // In the program's order.
  [[nodiscard]] std::vector<RepeatedPlace> All() const;
  [[nodiscard]] bool IsLeftOut(std::uint32_t place) const;
  // The recorded part that a copy repeats, of steps by index. They come in turn but for the first,
  // which may wait for a first micro-batch that is unlike the others.
  struct Part {
    std::uint32_t begin = 0, end = 0;  // places
    std::int64_t back = 0;             // 1: the last one
  };
  [[nodiscard]] Part SourceOf(std::size_t step, std::int64_t copy) const;
  // Of a copy: how many copies of nodes come before it.
  [[nodiscard]] std::uint64_t NumberOfCopy(const RepeatedPlace& copy) const;
  // Which of the steps with parts a place comes after; nothing: it is before them all.
  [[nodiscard]] std::optional<std::size_t> StepBefore(std::uint32_t place) const;
  // Of which step a place's work is done in parts.
  [[nodiscard]] std::optional<std::size_t> StepOf(std::uint32_t place) const;
  // The place with the same work one part earlier.
  [[nodiscard]] std::optional<std::uint32_t> OnePartBefore(std::uint32_t place) const;
  // What is to `from` as the recorded `to` is to the node that `from` is or copies. Nothing: the
  // micro-batch that it would be of is left out, or there is none. Relation: with forward passes
  // first, a backward pass belongs to that of its micro-batch, and the first one follows the last.
  enum class Relation : std::uint8_t { kOfMicroBatch, kOrder };
  [[nodiscard]] std::optional<RepeatedPlace> Related(
      const RepeatedPlace& from, std::uint32_t to,
      Relation relation = Relation::kOfMicroBatch) const;

 private:
  // Of main places whose work a part has.
  struct Occurrence {
    std::size_t step = 0;
    std::int64_t part = 0;    // −1: of the last recorded part, 0: of what comes after it
    std::int64_t offset = 0;  // among the same work of a part
  };
  [[nodiscard]] std::optional<Occurrence> OccurrenceOf(std::uint32_t place) const;
  [[nodiscard]] std::optional<std::uint32_t> PlaceOf(std::uint32_t work,
                                                     const Occurrence& of) const;
  // By how many parts a node's micro-batch is later than the one of the node that it is or copies,
  // as what it refers to sees it, which is of a step's parts.
  [[nodiscard]] std::int64_t LaterThan(const RepeatedPlace& one, std::size_t step,
                                       Relation relation) const;
  // Of a main place.
  [[nodiscard]] std::optional<RepeatedPlace> RelatedMain(const RepeatedPlace& from,
                                                         std::uint32_t to, Relation relation) const;
  // Of another call that does the same: the piece that `piece` is of its own; its last one where it
  // has fewer.
  [[nodiscard]] std::uint32_t PieceOf(std::uint32_t main, std::uint32_t piece) const;

  const MicroBatches& found_;
  std::int64_t more_;
  // By work: its places; of those in the last part how many there are, and how many before these.
  struct Work {
    std::vector<std::uint32_t> places;
    std::uint32_t in_part = 0, before = 0;
    std::size_t step = 0;
  };
  std::vector<Work> works_;
  std::vector<std::uint32_t>
      number_;  // by main place: among those of its work; others: of its call
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      pieces_;                                             // further ones, by main place
  std::vector<std::vector<std::uint64_t>> copies_before_;  // by step and copy
};

}  // namespace reprise
