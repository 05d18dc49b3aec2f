#include "collectives/matched_group.h"

#include "collectives/fingerprint.h"

namespace reprise {

std::int64_t MatchedGroup::Digest() const {
  std::vector<std::int64_t> words;
  words.reserve(2 * collectives.size());
  for (const PlannedTransfer* planned : collectives) {
    words.push_back(FingerprintOf(planned->spec));
    words.push_back(OperationOf(planned->spec));
  }
  return HashOf(words);
}

std::int64_t MatchedGroup::PairClaims() const {
  std::int64_t claims = 0;
  for (const auto& [key, transfers] : pairs) {
    for (std::size_t n = 0; n < transfers.size(); ++n) {
      claims ^= PairClaimOf(transfers[n]->spec, n, key.source, key.destination);
    }
  }
  return claims;
}

std::int64_t MatchedGroup::BlockClaim(std::size_t n) const {
  const GroupPlace& place = member->place;
  return ClaimsOf(collectives[n]->spec, n, place.ranks[static_cast<std::size_t>(place.rank)],
                  place.ranks);
}

std::int64_t MatchedGroup::BlockClaims() const {
  std::int64_t claims = 0;
  for (std::size_t n = 0; n < collectives.size(); ++n) {
    claims ^= BlockClaim(n);
  }
  return claims;
}

}  // namespace reprise
