#include "workload/rank_place.h"

namespace reprise {

Place PlaceOf(const Layout& layout, std::int64_t rank) {
  Place place;
  place.tp = rank % layout.tp;
  rank /= layout.tp;
  place.cp = rank % layout.cp;
  rank /= layout.cp;
  place.dp = rank % layout.dp;
  place.pp = rank / layout.dp;
  return place;
}

std::vector<std::int64_t> MeshOf(const Layout& layout) {
  return {layout.tp, layout.cp, layout.ep, layout.dp / layout.ep, layout.pp};
}

}  // namespace reprise
