#include "tests/skip.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <utility>
#include <vector>

namespace reprise {
namespace {

const std::map<std::string, std::string, std::less<>>& Needs() {
  static const std::map<std::string, std::string, std::less<>> kNeeds = {
#define NEED(name, what) {#name, what},
#include "tests/needs.def"
  };
  return kNeeds;
}

std::vector<std::string> Required() {
  const char* list = std::getenv("REPRISE_REQUIRE");
  std::vector<std::string> names;
  std::string name;
  for (const char c : std::string(list == nullptr ? "" : list) + ",") {
    if (c != ',') {
      name += c;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, {}));
    }
  }
  return names;
}

// A wrong name requires nothing: no test may run with one.
const bool kNamesAreKnown = [] {
  for (const std::string& name : Required()) {
    if (!Needs().contains(name)) {
      std::cerr << "REPRISE_REQUIRE: no test is skipped for '" << name << "'; there are:";
      for (const auto& [known, what] : Needs()) {
        std::cerr << " " << known;
      }
      std::cerr << "\n";
      std::exit(2);
    }
  }
  return true;
}();

}  // namespace

std::string WhyNoSkip(std::string_view need) {
  const auto found = Needs().find(need);
  if (found == Needs().end()) {
    return std::string(need) + ": no reason to skip a test (tests/needs.def)";
  }
  const auto required = Required();
  if (!kNamesAreKnown || std::find(required.begin(), required.end(), need) != required.end()) {
    return "REPRISE_REQUIRE names " + found->first + ", " + found->second;
  }
  return "";
}

}  // namespace reprise
