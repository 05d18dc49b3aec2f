// DividedLayout: tensors of one head, whose dimension addresses do not show.
#include <algorithm>
#include <functional>
#include <limits>

#include "predict/rescale/tensors/divided_layout.h"

namespace reprise {

bool DividedLayout::SetHeads(std::size_t tensor, std::size_t dim) {
  View& view = views_[tensor];
  if (view.heads) {
    view.several_heads = view.several_heads || *view.heads != dim;
    return false;
  }
  view.heads = dim;
  return true;
}

bool DividedLayout::HasOneHead() const {
  return std::ranges::any_of(views_, [](const View& view) {
    return view.heads && !view.several_heads && view.shape[*view.heads] == 1;
  });
}

bool DividedLayout::CountsHeads(const View& view, const Mark& mark) {
  return mark.heads && view.heads && !view.several_heads &&
         (view.shape[*view.heads] == 1 || view.strides[*view.heads] == mark.end);
}

bool DividedLayout::ShowsOneHead(const View& view, int cell) {
  return view.cell == cell && view.heads && !view.several_heads && view.shape[*view.heads] == 1;
}

bool DividedLayout::IsFilledByHead(int cell, const Mark& mark) const {
  std::int64_t filled = 0;
  for (const View& view : views_) {
    if (!ShowsOneHead(view, cell)) {
      continue;
    }
    std::int64_t own = 1;
    for (std::size_t dim = 0; dim < view.shape.size(); ++dim) {
      const std::int64_t stride = view.strides[dim], size = view.shape[dim];
      own = size > 1 && stride < mark.end ? std::max(own, stride * size) : own;
    }
    filled = std::max(filled, own);
  }
  return filled == mark.end;
}

DividedLayout::HeadBounds DividedLayout::HeadBoundsOf(int cell) const {
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
  for (const View& view : views_) {
    if (!ShowsOneHead(view, cell)) {
      continue;
    }
    std::int64_t parts = 0, others = std::numeric_limits<std::int64_t>::max(), outer = others;
    bool in_order = true;
    for (std::size_t dim = 0; dim < view.shape.size(); ++dim) {
      const std::int64_t stride = view.strides[dim], size = view.shape[dim];
      if (size == 1) {
        continue;
      }
      in_order = in_order && stride * size <= outer;
      outer = stride;
      if (dim < *view.heads) {
        others = std::min(others, stride);
      } else {
        parts = std::max(parts, stride * size);
      }
    }
    if (in_order) {
      least = std::max(least, parts);
      most = std::min(most, others);
    }
  }
  return {least, most};
}

bool DividedLayout::IsOrderInDoubt() const {
  const std::vector<std::int64_t> dense = HeadElements();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const HeadBounds bounds = HeadBoundsOf(static_cast<int>(i));
    const bool doubt =
        bounds.least > bounds.most && std::ranges::any_of(cells_[i].marks, [&](const Mark& mark) {
          const bool is_dense = dense.empty() || std::ranges::find(dense, mark.end) != dense.end();
          return mark.heads && (mark.end > bounds.most || !is_dense);
        });
    if (doubt) {
      return true;
    }
  }
  return false;
}

std::optional<std::vector<bool>> DividedLayout::PartsOfHeads(std::size_t tensor) const {
  const View& view = views_[tensor];
  if (!view.heads || view.several_heads || view.cell < 0) {
    return std::nullopt;
  }
  const Marks& marks = cells_[static_cast<std::size_t>(view.cell)].marks;
  const auto mark =
      std::ranges::find_if(marks, [&view](const Mark& one) { return CountsHeads(view, one); });
  if (mark == marks.end()) {
    return std::nullopt;
  }
  std::vector<bool> parts(view.shape.size());
  for (std::size_t dim = 0; dim < parts.size(); ++dim) {
    parts[dim] = dim != *view.heads && view.shape[dim] > 1 && view.strides[dim] < mark->end;
  }
  return parts;
}

std::vector<std::int64_t> DividedLayout::HeadElements() const {
  std::vector<std::int64_t> all;
  for (const View& view : views_) {
    if (view.heads && !view.several_heads && view.strides == ContiguousStrides(view.shape)) {
      all.push_back(view.strides[*view.heads]);
    }
  }
  std::ranges::sort(all, std::greater<>());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::optional<int> DividedLayout::DivisionsBelow(const View& view, std::size_t dim,
                                                 const Mark& mark) {
  const std::int64_t size = view.shape[dim], stride = view.strides[dim];
  const int times = mark.IsOfRanks() ? -1 : 1;
  if (CountsHeads(view, mark)) {
    if (dim == *view.heads || stride < mark.end) {
      const bool within = dim == *view.heads || size <= 1 || stride * size <= mark.end;
      return within ? std::optional(0) : std::nullopt;
    }
    if (stride % mark.end != 0) {
      return size > 1 ? std::nullopt : std::optional(0);
    }
    // What counts one may have the stride of the heads, and lie within them.
    return size > 1 || stride > mark.end || dim < *view.heads ? times : 0;
  }
  const bool reaches = Reaches(view, dim, mark);
  const std::int64_t least = stride < mark.part && !mark.seen ? mark.part : mark.end;
  if (reaches && (least % stride != 0 || stride * size % least != 0)) {
    return std::nullopt;
  }
  if (!reaches && stride > 0 && mark.end <= stride && stride % mark.end == 0) {
    return times;
  }
  return reaches || mark.end > stride || size <= 1 ? std::optional(0) : std::nullopt;
}

}  // namespace reprise
