#include "predict/rescale/tensors/divided_layout.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace reprise {
std::size_t DividedLayout::NumberOf(const TensorDesc& tensor) const {
  const auto same = std::ranges::find_if(views_, [&tensor](const View& view) {
    return view.offset == tensor.offset && view.shape == tensor.shape &&
           view.strides == tensor.strides;
  });
  return static_cast<std::size_t>(same - views_.begin());
}

std::size_t DividedLayout::Add(const TensorDesc& tensor) {
  const std::size_t known = NumberOf(tensor);
  if (known == views_.size()) {
    views_.push_back({.offset = tensor.offset,
                      .end = tensor.offset + ExtentElements(tensor),
                      .shape = tensor.shape,
                      .strides = tensor.strides});
    views_.back().broadcast.resize(tensor.shape.size());
  }
  return known;
}

// Where no tensors of several dimensions overlap unless one is within the other, the largest ones
// are cells, and so are tensors of one dimension between them. Others of one dimension join cells,
// or are a share of them.
void DividedLayout::EndAdding(bool always_apart) {
  struct Interval {
    bool flat = false;
    std::int64_t begin = 0, end = 0;
    std::size_t view = 0;
  };
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    if (ElementCount(view.shape) > 0) {
      const bool flat = std::ranges::count_if(view.shape, [](std::int64_t n) { return n > 1; }) < 2;
      intervals.push_back({flat, view.offset, view.end, i});
      extent_ = std::max(extent_, intervals.back().end);
    }
  }
  // Largest ones first; vectors, which may join several, smallest first.
  std::ranges::sort(intervals, {}, [](const Interval& one) {
    const std::int64_t elements = one.end - one.begin;
    return std::tuple(one.flat, one.flat ? elements : -elements, one.begin);
  });
  bool apart = always_apart || std::ranges::any_of(intervals, &Interval::flat);
  for (const Interval& one : intervals) {
    const auto touched = std::ranges::find_if(
        cells_, [&one](const Cell& cell) { return cell.begin < one.end && one.begin < cell.end; });
    View& view = views_[one.view];
    view.cell = static_cast<int>(touched - cells_.begin());
    if (touched == cells_.end()) {
      cells_.push_back({.begin = one.begin, .end = one.end});
    } else if (one.begin < touched->begin || touched->end < one.end) {
      view.cell = -1;
      apart = apart && one.flat;
    }
  }
  if (!apart) {
    JoinCells();
  }
}

void DividedLayout::JoinCells() {
  cells_ = {{.begin = 0, .end = extent_}};
  std::ranges::for_each(views_, [](View& view) { view.cell = 0; });
}

void DividedLayout::SetShare(std::size_t tensor, const DividedAmong& ranks) {
  View& view = views_[tensor];
  if (view.shape.size() == 1 && view.shape[0] < extent_) {
    view.share = true;
    view.sharing = ranks;
    view.cell = -1;
  }
}

bool DividedLayout::Reaches(const View& view, std::size_t dim, const Mark& mark) {
  const std::int64_t stride = view.strides[dim], size = view.shape[dim];
  if (size <= 1 || stride <= 0 || stride >= mark.end) {
    return false;
  }
  return stride * size >= (stride < mark.part && !mark.seen ? mark.part : mark.end);
}

DividedLayout::Marks DividedLayout::MarksBesides(const View& view, const Marks& marks) {
  Marks left = marks;
  for (const Mark& mark : marks) {
    for (std::size_t dim = 0; dim < view.shape.size() && mark.IsOfRanks(); ++dim) {
      if (!Reaches(view, dim, mark) || view.strides[dim] >= mark.part) {
        continue;
      }
      const auto within = std::ranges::find_if(left, [&](const Mark& one) {
        return !one.IsOfRanks() && view.strides[dim] < one.end && one.end <= mark.part;
      });
      if (within != left.end()) {
        left.erase(within);
        std::erase(left, mark);
      }
    }
  }
  return left;
}

int DividedLayout::Divisions(const View& view, std::size_t dim, const Marks& marks) {
  int divisions = view.broadcast[dim];
  for (const Mark& mark : marks) {
    if (IsDividedAt(view, dim, mark)) {
      divisions += mark.IsOfRanks() ? -1 : 1;
    }
  }
  return divisions;
}

int DividedLayout::Divisions(std::size_t tensor, std::size_t dim) const {
  const View& view = views_[tensor];
  return view.cell < 0 ? 0
                       : Divisions(view, dim, cells_[static_cast<std::size_t>(view.cell)].marks);
}

bool DividedLayout::IsOfRanks(std::size_t tensor, std::size_t dim) const {
  const View& view = views_[tensor];
  if (view.cell < 0) {
    return false;
  }
  if (view.strides[dim] == 0) {
    return view.broadcast[dim] < 0;
  }
  const Marks& marks = cells_[static_cast<std::size_t>(view.cell)].marks;
  const Mark own{view.strides[dim] * view.shape[dim], view.strides[dim]};
  return view.shape[dim] > 1 && HasPartsLike(marks, own);
}

bool DividedLayout::HasPartsLike(const Marks& marks, const Mark& mark) {
  return std::ranges::any_of(
      marks, [&mark](const Mark& one) { return one.end == mark.end && one.part == mark.part; });
}

bool DividedLayout::HasDivided() const {
  return std::ranges::any_of(cells_, [](const Cell& cell) { return !cell.marks.empty(); }) ||
         std::ranges::any_of(views_, [](const View& view) {
           return std::ranges::any_of(view.broadcast, [](int divisions) { return divisions != 0; });
         });
}

bool DividedLayout::Agree(const Cell& cell, int number, const Marks& marks,
                          const DividedAmong& division) const {
  const bool placed = std::ranges::all_of(views_, [&](const View& view) {
    return view.cell != number || ElementCount(view.shape) == 0 ||
           Place(view, cell.begin, marks, division).has_value();
  });
  const bool filled = std::ranges::all_of(
      marks, [&](const Mark& mark) { return !mark.heads || IsFilledByHead(number, mark); });
  return placed && filled && std::ranges::all_of(cell.demands, [&](const Demand& demand) {
           return Divisions(views_[demand.view], demand.dim, marks) > 0;
         });
}

void DividedLayout::PlaceRanks(std::size_t tensor, std::size_t dim) {
  View& view = views_[tensor];
  if (view.cell < 0) {
    return;
  }
  if (view.strides[dim] == 0) {
    view.broadcast[dim] = -1;
    return;
  }
  Marks& marks = cells_[static_cast<std::size_t>(view.cell)].marks;
  const Mark mark{view.strides[dim] * view.shape[dim], view.strides[dim]};
  if (!HasPartsLike(marks, mark)) {
    marks.push_back(mark);
    std::ranges::sort(marks);
  }
}

void DividedLayout::PlaceParts(std::int64_t distance, std::int64_t ranks) {
  for (Cell& cell : cells_) {
    const Mark mark{.end = distance * ranks, .part = distance, .seen = true};
    if (cell.end - cell.begin >= mark.end &&
        std::ranges::find(cell.marks, mark) == cell.marks.end()) {
      cell.marks.push_back(mark);
      std::ranges::sort(cell.marks);
    }
  }
}

std::vector<DividedLayout::Mark> DividedLayout::CandidatesFor(
    const View& view, std::size_t dim, const std::vector<std::int64_t>& ends) const {
  std::vector<Mark> candidates;
  if (view.shape[dim] <= 1) {
    for (const std::int64_t end : ends) {
      candidates.push_back({.end = end, .heads = true});
    }
    return candidates;
  }
  for (const View& other : views_) {
    for (std::size_t i = 0; i < other.shape.size() && other.cell == view.cell; ++i) {
      const Mark end{other.strides[i] * other.shape[i]};
      if (Reaches(view, dim, end)) {
        candidates.push_back(end);
      }
    }
  }
  std::ranges::sort(candidates, std::greater<>());
  if (!HasOneHead()) {
    return candidates;
  }
  std::vector<Mark> of_heads = candidates;
  if (view.heads == dim) {  // others show one of them
    of_heads.push_back({.end = view.strides[dim]});
  }
  std::ranges::for_each(of_heads, [](Mark& mark) { mark.heads = true; });
  const HeadBounds bounds = HeadBoundsOf(view.cell);
  std::erase_if(of_heads, [&bounds](const Mark& mark) {
    return bounds.least <= bounds.most && (mark.end < bounds.least || bounds.most < mark.end);
  });
  of_heads.insert(of_heads.end(), candidates.begin(), candidates.end());
  return of_heads;
}

bool DividedLayout::Divide(std::size_t tensor, std::size_t dim, const DividedAmong& division,
                           const std::vector<std::int64_t>& ends) {
  View& view = views_[tensor];
  if (view.cell < 0 || (view.shape[dim] <= 1 && !IsOfHeads(tensor, dim))) {
    return true;
  }
  if (view.strides[dim] == 0 && view.shape[dim] > 1) {
    view.broadcast[dim] = 1;
    return ScaledBy(view.shape[dim], 1, division) > 0;
  }
  if (IsDivided(tensor, dim)) {
    return true;
  }
  Cell& cell = cells_[static_cast<std::size_t>(view.cell)];
  cell.demands.push_back({tensor, dim});
  const std::vector<Mark> candidates = CandidatesFor(view, dim, ends);
  // The outermost place; of those first where the parts could be divided further, as what ranks
  // divide can. One for all demands, else one more.
  const DividedAmong further{1, 2};
  for (const bool one_more : {false, true}) {
    for (const bool strict : {true, false}) {
      for (const Mark& candidate : candidates) {
        Marks marks = {candidate};
        std::ranges::copy_if(cell.marks, std::back_inserter(marks),
                             [&](const Mark& mark) { return one_more || mark.IsOfRanks(); });
        std::ranges::sort(marks);
        const bool is_further = !strict || candidate.heads;  // one head is not divided further
        if ((is_further || Agree(cell, view.cell, marks, further)) &&
            Agree(cell, view.cell, marks, division)) {
          cell.marks = std::move(marks);
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace reprise
