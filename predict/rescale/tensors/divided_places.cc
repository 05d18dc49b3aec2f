// DividedLayout: tensors with another number of ranks.
#include <algorithm>

#include "predict/rescale/tensors/divided_layout.h"

namespace reprise {

std::optional<DividedLayout::Placed> DividedLayout::Place(const View& view, std::int64_t begin,
                                                          const Marks& marks,
                                                          const DividedAmong& division) {
  Placed placed{.offset = 0, .shape = view.shape, .strides = view.strides};
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::int64_t size = view.shape[i];
    std::int64_t stride = view.strides[i];
    int below = 0;
    for (const Mark& mark : marks) {
      const std::optional<int> divisions = DivisionsBelow(view, i, mark);
      if (!divisions) {
        return std::nullopt;
      }
      below += *divisions;
      if (size == 1 && CountsHeads(view, mark) && i == *view.heads) {
        stride = mark.end;
      }
    }
    placed.shape[i] = ScaledBy(size, Divisions(view, i, marks), division);
    placed.strides[i] = ScaledBy(stride, below, division);
    if (placed.shape[i] < 0 || placed.strides[i] < 0) {
      return std::nullopt;
    }
  }
  // What lies below the highest end is within one part, and stays there.
  std::int64_t rest = view.offset - begin;
  const Marks besides = MarksBesides(view, marks);
  for (std::size_t i = besides.size(); i-- > 0;) {
    const Mark& mark = besides[i];
    int up_to = 0;
    for (std::size_t lower = 0; lower <= i; ++lower) {
      up_to += besides[lower].IsOfRanks() ? -1 : 1;
    }
    const std::int64_t end_after = ScaledBy(mark.end, up_to, division);
    if (end_after < 0) {
      return std::nullopt;
    }
    placed.offset += rest / mark.end * end_after;
    rest %= mark.end;
    std::int64_t span = 1, room = mark.end;
    const bool of_heads = CountsHeads(view, mark);
    bool reached = mark.IsOfRanks() || of_heads;
    for (std::size_t dim = 0; dim < view.shape.size(); ++dim) {
      if (!of_heads && Reaches(view, dim, mark)) {
        reached = true;
        room = mark.IsOfRanks() ? room : std::min(room, view.strides[dim]);
      } else if (view.strides[dim] < mark.end) {
        span += (view.shape[dim] - 1) * view.strides[dim];
      }
    }
    if (!reached) {
      room = room * std::min(division.from, division.to) / std::max(division.from, division.to);
    }
    if (!mark.IsOfRanks() && rest + span > room) {
      return std::nullopt;
    }
  }
  placed.offset += rest;
  return placed;
}

std::optional<std::int64_t> DividedLayout::FlatAfter(std::int64_t address,
                                                     const DividedAmong& division) const {
  std::int64_t after = address;
  for (const Cell& cell : cells_) {
    if (cell.end <= address) {
      int divisions = 0;
      for (const Mark& mark : cell.marks) {
        divisions += mark.IsOfRanks() ? -1 : 1;
      }
      const std::int64_t elements = ScaledBy(cell.end - cell.begin, divisions, division);
      if (elements < 0) {
        return std::nullopt;
      }
      after += elements - (cell.end - cell.begin);
    } else if (cell.begin < address && !cell.marks.empty()) {
      return std::nullopt;
    }
  }
  return after;
}

bool DividedLayout::Changes(std::size_t tensor) const {
  const View& view = views_[tensor];
  if (elements_after_) {
    return true;
  }
  if (cells_.size() > 1) {
    return std::ranges::any_of(cells_, [&](const Cell& cell) {
      return !cell.marks.empty() && (cell.begin < view.end || view.share);
    });
  }
  return HasDivided();
}

// Of a flat tensor: where it begins and how many elements it has.
std::optional<std::pair<std::int64_t, std::int64_t>> DividedLayout::FlatPlace(
    const View& view, const DividedAmong& division) const {
  if (!view.share) {
    const auto first = FlatAfter(view.offset, division), last = FlatAfter(view.end, division);
    if (first && last) {
      return std::pair(*first, *last - *first);
    }
  }
  const std::int64_t elements = view.end - view.offset;
  const auto all = FlatAfter(extent_, division);
  if (!all || extent_ % elements != 0 || view.offset % elements != 0) {
    return std::nullopt;
  }
  const auto& [from, to] = view.sharing;
  const std::int64_t shares = extent_ / elements;
  if (from != to) {  // padding, and which share a rank has, follow from no tensor
    std::int64_t covered = 0;
    for (const Cell& cell : cells_) {
      covered += cell.end - cell.begin;
    }
    if (covered != extent_ || view.offset != 0 || shares * to % from != 0) {
      return std::nullopt;
    }
  }
  const std::int64_t shares_after = shares * to / from;
  if (*all % shares_after != 0) {
    return std::nullopt;
  }
  const std::int64_t share = *all / shares_after;
  return std::pair(view.offset / elements * share, share);
}

std::optional<std::int64_t> DividedLayout::ElementsAfter(std::size_t tensor,
                                                         const DividedAmong& division) const {
  const View& view = views_[tensor];
  if (elements_after_) {
    return elements_after_;
  }
  const auto place = view.cell < 0 ? FlatPlace(view, division) : std::nullopt;
  return place ? std::optional(place->second) : std::nullopt;
}

std::optional<std::int64_t> DividedLayout::SizeAfter(std::size_t tensor, std::size_t dim,
                                                     const DividedAmong& division) const {
  const View& view = views_[tensor];
  if (!Changes(tensor)) {
    return view.shape[dim];
  }
  if (elements_after_ || view.cell < 0) {
    return ElementsAfter(tensor, division);
  }
  const std::int64_t size = ScaledBy(view.shape[dim], Divisions(tensor, dim), division);
  return size < 0 ? std::nullopt : std::optional(size);
}

bool DividedLayout::IsVector() const {
  return !HasDivided() && std::ranges::all_of(views_, [this](const View& view) {
    return view.offset == 0 && view.shape.size() == 1 && view.shape[0] == extent_;
  });
}

bool DividedLayout::Resize(TensorDesc& tensor, const DividedAmong& division) const {
  const std::size_t number = NumberOf(tensor);
  if (number == views_.size() || !Changes(number)) {
    return true;
  }
  const View& view = views_[number];
  if (elements_after_) {
    tensor.elements = tensor.shape[0] = *elements_after_;
    return true;
  }
  if (view.cell < 0) {
    const auto place = FlatPlace(view, division);
    if (!place) {
      return false;
    }
    tensor.offset = place->first;
    tensor.elements = place->second;
    for (std::int64_t& size : tensor.shape) {
      size = size > 1 ? tensor.elements : size;
    }
    return true;
  }
  const Cell& cell = cells_[static_cast<std::size_t>(view.cell)];
  const auto first = FlatAfter(cell.begin, division);
  const auto placed = ElementCount(view.shape) == 0
                          ? std::optional(Placed{0, view.shape, view.strides})
                          : Place(view, cell.begin, cell.marks, division);
  if (!first || !placed) {
    return false;
  }
  const bool contiguous = tensor.strides == ContiguousStrides(tensor.shape);
  tensor.offset = *first + placed->offset;
  tensor.shape = placed->shape;
  const std::vector<std::int64_t> dense = ContiguousStrides(tensor.shape);
  // Several heads where there was one may lie in another order.
  const bool in_order = !view.heads || view.several_heads || view.shape[*view.heads] > 1 ||
                        placed->strides[*view.heads] == dense[*view.heads];
  tensor.strides = contiguous && in_order ? dense : placed->strides;
  tensor.elements = ElementCount(tensor.shape);
  return true;
}

}  // namespace reprise
