// Parts of a rank's program that come more or less often than recorded: where each node is then.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "predict/rescale/program_order.h"

namespace reprise {

// In one step, `times` equal parts of `length` nodes right before `end`, as indices in
// ProgramOrder::main, and `after` more of them from there on.
struct RepeatedParts {
  std::int32_t step = 0;
  std::uint32_t end = 0, length = 0, times = 0, after = 0;

  [[nodiscard]] std::uint32_t begin() const { return end - length; }  // of the last part before it
  [[nodiscard]] std::uint32_t first_begin() const { return end - times * length; }
  [[nodiscard]] std::uint32_t last_end() const { return end + after * length; }
};

// Whether each of these parts may come so many times more, or fewer, in a rank of so many nodes.
// Bad input: fewer are there before RepeatedParts::end, or the result has more nodes than the
// limit.
[[nodiscard]] Status CheckRepetition(std::uint64_t nodes, const std::vector<RepeatedParts>& all,
                                     std::int64_t more);

// A node of the result: a recorded one, by its place in the program's order, or a copy of it.
struct RepeatedPlace {
  std::uint32_t place = 0;
  std::int64_t copy = -1;  // number of the new part, of those at its place; -1: the recorded node
  bool operator==(const RepeatedPlace&) const = default;
};

// New parts come at RepeatedParts::end; where there are fewer, the last ones before it are left
// out.
class Repetition {
 public:
  // `parts`: by place. `more`: how many each of them has more, or fewer, as CheckRepetition allows.
  // The others must outlive it.
  Repetition(const ProgramOrder& order, const std::vector<RepeatedParts>& parts, std::int64_t more);
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
  virtual ~Repetition() = default;

  [[nodiscard]] const ProgramOrder& order() const { return order_; }
  [[nodiscard]] const std::vector<RepeatedParts>& parts() const { return parts_; }
  [[nodiscard]] std::int64_t more() const { return more_; }

  // In the program's order.
  [[nodiscard]] std::vector<RepeatedPlace> All() const;
  [[nodiscard]] bool IsLeftOut(std::uint32_t place) const;
  // The recorded part that a copy repeats, of parts by index. They come in turn but for the first,
  // which may be unlike the others in what it waits for. If there is no other before the new ones,
  // it is the one after them.
  struct Part {
    std::uint32_t begin = 0, end = 0;  // places
    std::int64_t back = 0;             // 1: the last one before the new ones
  };
  [[nodiscard]] Part SourceOf(std::size_t parts, std::int64_t copy) const;
  // Of a copy: how many copies of nodes come before it.
  [[nodiscard]] std::uint64_t NumberOfCopy(const RepeatedPlace& copy) const;
  // How many parts, by index, end at or before a place.
  [[nodiscard]] std::size_t PartsBefore(std::uint32_t place) const;

  // In which parts a place's work is done.
  [[nodiscard]] virtual std::optional<std::size_t> PartsOf(std::uint32_t place) const = 0;
  // The place with the same work one part earlier.
  [[nodiscard]] std::optional<std::uint32_t> OnePartBefore(std::uint32_t place) const;
  // What is to `from` as the recorded `to` is to the node that `from` is or copies. Nothing: it is
  // left out, or there is none. Relation: data come from the same micro-batch and from the layer at
  // the same distance; in the program's order, the first part of a pass follows the last part of
  // the one before.
  enum class Relation : std::uint8_t { kData, kOrder };
  [[nodiscard]] std::optional<RepeatedPlace> Related(const RepeatedPlace& from, std::uint32_t to,
                                                     Relation relation = Relation::kData) const;
  // Of what repeats a place in the first or last part, but is in neither: the place with the same
  // work in the part next to it, whose neighbours may be of another kind.
  [[nodiscard]] virtual std::optional<std::uint32_t> TwinOf(const RepeatedPlace& /*one*/) const {
    return std::nullopt;
  }
  // What is to `from` as the recorded `to` is to `twin`, if that is in parts.
  [[nodiscard]] virtual std::optional<RepeatedPlace> RelatedLike(const RepeatedPlace& /*from*/,
                                                                 std::uint32_t /*twin*/,
                                                                 std::uint32_t /*to*/) const {
    return std::nullopt;
  }

 protected:
  // OnePartBefore and Related of main places.
  [[nodiscard]] virtual std::optional<std::uint32_t> MainOnePartBefore(
      std::uint32_t main) const = 0;
  [[nodiscard]] virtual std::optional<RepeatedPlace> RelatedMain(const RepeatedPlace& from,
                                                                 std::uint32_t to,
                                                                 Relation relation) const = 0;
  // By main place: among those of its work; others: among those of their call.
  [[nodiscard]] std::uint32_t NumberAt(std::uint32_t place) const { return number_[place]; }
  // The main places of a work.
  [[nodiscard]] const std::vector<std::uint32_t>& PlacesOf(std::uint32_t work) const {
    return places_[work];
  }

 private:
  // Of another call that does the same: the piece that `piece` is of its own; its last one where it
  // has fewer.
  [[nodiscard]] std::uint32_t PieceOf(std::uint32_t main, std::uint32_t piece) const;

  const ProgramOrder& order_;
  const std::vector<RepeatedParts>& parts_;
  std::int64_t more_;
  std::vector<std::vector<std::uint32_t>> places_;                        // main ones, by work
  std::vector<std::uint32_t> number_;                                     // by place
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> pieces_;  // by main place
  std::vector<std::vector<std::uint64_t>> copies_before_;                 // by parts and copy
  std::vector<std::uint32_t> ends_;                                       // places, by parts
};

}  // namespace reprise
