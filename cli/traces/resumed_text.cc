#include "cli/traces/resumed_text.h"

#include <fmt/format.h>

#include "core/counted.h"

namespace reprise {

void AddResumeFlag(CLI::App& app, bool& resume) {
  app.add_flag(
      "--resume", resume,
      "keep the work in OUTPUT.partial until it is whole, and go on with what an ended run "
      "has left there");
}

std::string ResumedText(const ResumedRanks& ranks) {
  return ranks.found ? fmt::format("resumed: {} taken up, {} made", Counted(ranks.taken_up, "rank"),
                                   ranks.made)
                     : fmt::format("nothing to resume: {} made", Counted(ranks.made, "rank"));
}

}  // namespace reprise
