#include "predict/simulator/refine.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace reprise {
namespace {

using Signature = std::vector<std::uint32_t>;

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const {
    std::uint64_t hash = 1469598103934665603U;  // FNV-1a
    for (const std::uint32_t number : signature) {
      hash = (hash ^ number) * 1099511628211U;
    }
    return hash;
  }
};
using Numbers = std::unordered_map<Signature, std::uint32_t, SignatureHash>;

std::uint32_t NumberOf(Numbers& numbers, Signature&& signature) {
  const auto next = static_cast<std::uint32_t>(numbers.size());
  return numbers.try_emplace(std::move(signature), next).first->second;
}

// Members' colours: in their order, or how many there are of each.
Signature SignatureOf(const std::vector<std::int32_t>& members, bool ordered,
                      const std::vector<std::uint32_t>& colours) {
  Signature signature;
  signature.reserve(members.size());
  for (const std::int32_t member : members) {
    signature.push_back(colours[static_cast<std::size_t>(member)]);
  }
  if (ordered) {
    return signature;
  }
  std::ranges::sort(signature);
  Signature counted;
  for (std::size_t i = 0; i < signature.size();) {
    std::size_t end = i;
    while (end < signature.size() && signature[end] == signature[i]) {
      ++end;
    }
    counted.push_back(signature[i]);
    counted.push_back(static_cast<std::uint32_t>(end - i));
    i = end;
  }
  return counted;
}

}  // namespace

Refinement RefineClasses(const std::vector<std::uint32_t>& colours,
                         std::span<const RoleGroups> roles) {
  Refinement refined;
  const std::size_t ranks = colours.size();
  std::vector<Signature> signatures(ranks);
  const auto renumber = [&] {
    Numbers numbers;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      refined.class_of[rank] = NumberOf(numbers, std::move(signatures[rank]));
      signatures[rank].clear();
    }
    return static_cast<std::uint32_t>(numbers.size());
  };
  refined.class_of.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    signatures[rank] = {colours[rank]};
  }
  refined.classes = renumber();
  refined.kind_of_group.resize(roles.size());
  for (;;) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      signatures[rank] = {refined.class_of[rank]};
    }
    for (std::size_t role = 0; role < roles.size(); ++role) {
      Numbers kinds;
      std::vector<std::uint32_t>& kind_of_group = refined.kind_of_group[role];
      kind_of_group.clear();
      for (const std::vector<std::int32_t>& members : roles[role].groups) {
        kind_of_group.push_back(
            NumberOf(kinds, SignatureOf(members, roles[role].ordered, refined.class_of)));
        for (std::size_t i = 0; i < members.size(); ++i) {
          Signature& signature = signatures[static_cast<std::size_t>(members[i])];
          signature.push_back(static_cast<std::uint32_t>(role));
          signature.push_back(kind_of_group.back());
          signature.push_back(roles[role].ordered ? static_cast<std::uint32_t>(i) : 0);
        }
      }
    }
    const std::uint32_t before = refined.classes;
    refined.classes = renumber();
    if (refined.classes == before) {
      return refined;
    }
  }
}

}  // namespace reprise
