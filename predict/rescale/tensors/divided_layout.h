// Where in a storage lie the dimensions that ranks divide among them, and its tensors with another
// number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/value.h"
#include "predict/rescale/tensors/divided_among.h"

namespace reprise {

// The tensors of one storage, as offset, shape and strides in elements. Division is a fact of
// addresses: where elements below address `end` are divided, every dimension that reaches from
// below `end` to `end` or beyond is divided, in whichever shape a tensor shows it, and strides from
// `end` on become others. Order of use: Add all tensors, EndAdding; PlaceParts, SetHeads,
// SetShare, PlaceRanks; Divide; SetElements; Resize.
//
// Addresses do not say it of heads: where a tensor has one, a dimension of one element counts them,
// and the head's features stay whole.
class DividedLayout {
 public:
  // Of a tensor with the same offset, shape and strides: the same number.
  std::size_t Add(const TensorDesc& tensor);
  // `always_apart`: tensors that do not overlap are divided each on its own, even where no vector
  // joins them.
  void EndAdding(bool always_apart = false);
  // All tensors show one another's elements.
  void JoinCells();
  [[nodiscard]] std::size_t size() const { return views_.size(); }

  [[nodiscard]] const std::vector<std::int64_t>& ShapeOf(std::size_t tensor) const {
    return views_[tensor].shape;
  }
  // Several tensors one behind the other in one buffer: no dimension of a tensor is known.
  [[nodiscard]] bool IsFlat(std::size_t tensor) const { return views_[tensor].cell < 0; }
  // Whether there is less of it where there are more ranks.
  [[nodiscard]] bool IsDivided(std::size_t tensor, std::size_t dim) const {
    return Divisions(tensor, dim) > 0;
  }
  // The dimension counts heads. False: it was known. Where several would, none is.
  bool SetHeads(std::size_t tensor, std::size_t dim);
  [[nodiscard]] bool IsOfHeads(std::size_t tensor, std::size_t dim) const {
    return views_[tensor].heads == dim && !views_[tensor].several_heads;
  }
  // A tensor has one head.
  [[nodiscard]] bool HasOneHead() const;
  // Tensors that show one head, and are divided where it ends, contradict each other in whether
  // what lies next to it in memory is a part of it, and none is written as if it were not.
  [[nodiscard]] bool IsOrderInDoubt() const;
  // By dimension, whether it is a part of a head. Nothing: heads are not known, or not divided.
  [[nodiscard]] std::optional<std::vector<bool>> PartsOfHeads(std::size_t tensor) const;
  // Elements of a head in tensors that are dense in the order of their dimensions; largest first.
  [[nodiscard]] std::vector<std::int64_t> HeadElements() const;
  // Whether it has a place for each of the ranks, and nothing else.
  [[nodiscard]] bool IsOfRanks(std::size_t tensor, std::size_t dim) const;
  [[nodiscard]] bool HasDivided() const;
  // A tensor of one dimension that is a rank's equal share of the buffer, wherever its tensors end.
  // `ranks`: that share it, before and after.
  void SetShare(std::size_t tensor, const DividedAmong& ranks = {1, 1});
  // Elements of a flat tensor, or of a vector that was given another size. Nothing: they are not
  // known, or follow from the tensor's dimensions.
  [[nodiscard]] std::optional<std::int64_t> ElementsAfter(std::size_t tensor,
                                                          const DividedAmong& division) const;
  // Of a dimension. Nothing: it is not known.
  [[nodiscard]] std::optional<std::int64_t> SizeAfter(std::size_t tensor, std::size_t dim,
                                                      const DividedAmong& division) const;
  // All tensors are of one dimension, and of the whole storage, in which nothing is divided.
  [[nodiscard]] bool IsVector() const;
  // Of a vector.
  void SetElements(std::int64_t elements) { elements_after_ = elements; }
  [[nodiscard]] bool HasElements() const { return elements_after_.has_value(); }
  // Whether any number of it becomes another.
  [[nodiscard]] bool Changes(std::size_t tensor) const;
  // The storage has a part for each of the `ranks`, so far apart, and tensors show single ones.
  void PlaceParts(std::int64_t distance, std::int64_t ranks);
  // False: no place for the division agrees with all tensors of the storage. Dimensions of one
  // element are not divided, but for one head: `ends`: elements that it may have, best first.
  [[nodiscard]] bool Divide(std::size_t tensor, std::size_t dim, const DividedAmong& division,
                            const std::vector<std::int64_t>& ends = {});
  // The dimension has a place for each of the ranks.
  void PlaceRanks(std::size_t tensor, std::size_t dim);
  // False: its size can't be divided so.
  [[nodiscard]] bool Resize(TensorDesc& tensor, const DividedAmong& division) const;
  [[nodiscard]] std::size_t NumberOf(const TensorDesc& tensor) const;

 private:
  struct View {
    std::int64_t offset = 0, end = 0;  // end: behind its last element
    std::vector<std::int64_t> shape, strides;
    int cell = 0;                // -1: flat
    std::vector<int> broadcast;  // of dimensions whose stride is 0: as Divisions
    bool share = false;
    DividedAmong sharing{1, 1};        // ranks
    std::optional<std::size_t> heads;  // the dimension that counts them
    bool several_heads = false;        // not known which
  };
  // An end, relative to the cell's begin. `part`: of a dimension with a place for each rank, whose
  // parts have so many elements: there are more of them where they are smaller. Else 0.
  struct Mark {
    std::int64_t end = 0, part = 0;
    bool seen = false;   // tensors show single parts
    bool heads = false;  // what lies below is one head
    [[nodiscard]] bool IsOfRanks() const { return part > 0; }
    auto operator<=>(const Mark&) const = default;
  };
  using Marks = std::vector<Mark>;
  struct Demand {
    std::size_t view = 0, dim = 0;
  };
  // A part of the storage whose tensors share their dimensions.
  struct Cell {
    std::int64_t begin = 0, end = 0;
    Marks marks;  // ascending
    std::vector<Demand> demands;
  };
  struct Placed {
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape, strides;
  };

  // A dimension that joins whole parts of ranks keeps its size, however many ranks there are. Where
  // tensors show single parts, only the dimension that joins all of them does.
  [[nodiscard]] static bool Reaches(const View& view, std::size_t dim, const Mark& mark);
  // A dimension of the tensor counts the heads below the mark.
  [[nodiscard]] static bool CountsHeads(const View& view, const Mark& mark);
  [[nodiscard]] static bool IsDividedAt(const View& view, std::size_t dim, const Mark& mark) {
    return CountsHeads(view, mark) ? dim == *view.heads : Reaches(view, dim, mark);
  }
  // Whether tensors show single parts, too, or not.
  [[nodiscard]] static bool HasPartsLike(const Marks& marks, const Mark& mark);
  // Without those of ranks, and of their parts, that one dimension of the tensor joins.
  [[nodiscard]] static Marks MarksBesides(const View& view, const Marks& marks);
  // How often it is divided; below 0: of ranks.
  [[nodiscard]] int Divisions(std::size_t tensor, std::size_t dim) const;
  [[nodiscard]] static int Divisions(const View& view, std::size_t dim, const Marks& marks);
  [[nodiscard]] static bool ShowsOneHead(const View& view, int cell);
  // The mark is where heads end that tensors show alone.
  [[nodiscard]] bool IsFilledByHead(int cell, const Mark& mark) const;
  // Where dimensions follow in memory as they do in a shape, those behind the heads are parts of
  // one, and those before are not. `least` is above `most` where tensors contradict each other.
  struct HeadBounds {
    std::int64_t least = 0, most = 0;  // elements of a head
  };
  [[nodiscard]] HeadBounds HeadBoundsOf(int cell) const;
  [[nodiscard]] std::vector<Mark> CandidatesFor(const View& view, std::size_t dim,
                                                const std::vector<std::int64_t>& ends) const;
  [[nodiscard]] bool Agree(const Cell& cell, int number, const Marks& marks,
                           const DividedAmong& division) const;
  // How often addresses below the dimension's stride are divided there. Nothing: the mark is in the
  // midst of the dimension.
  [[nodiscard]] static std::optional<int> DivisionsBelow(const View& view, std::size_t dim,
                                                         const Mark& mark);
  [[nodiscard]] static std::optional<Placed> Place(const View& view, std::int64_t begin,
                                                   const Marks& marks,
                                                   const DividedAmong& division);
  // Of an address between cells: where it is after.
  [[nodiscard]] std::optional<std::int64_t> FlatAfter(std::int64_t address,
                                                      const DividedAmong& division) const;

  [[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> FlatPlace(
      const View& view, const DividedAmong& division) const;

  std::vector<View> views_;
  std::vector<Cell> cells_;
  std::int64_t extent_ = 0;
  std::optional<std::int64_t> elements_after_;  // of a vector
};

}  // namespace reprise
