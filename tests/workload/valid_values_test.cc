// What a refused job could be instead.
#include "predict/workload/job/valid_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

JobOptions Options(const std::string& what, const std::map<std::string, std::string>& given) {
  JobOptions options{.what = what};
  for (const auto& [name, text] : given) {
    EXPECT_TRUE(SetJobOption(name, text, options)) << name;
  }
  return options;
}

TEST(ValidValues, EveryNamedValueIsTakenAndTheRefusedOneIsNotNamed) {
  const std::vector<std::pair<std::string, std::map<std::string, std::string>>> refused = {
      {"llama3-70b", {{"ranks", "64"}, {"tp", "3"}}},
      {"llama3-70b", {{"ranks", "100"}, {"tp", "8"}, {"pp", "2"}}},
      {"gpt-small", {{"ranks", "12"}}},
      {"gpt-small", {{"pp", "8"}}},
      {"gpt-small", {{"global-batch", "7"}}},
      {"gpt-small", {{"tp", "4"}, {"pp", "2"}, {"ranks", "6"}}},
  };
  for (const auto& [what, given] : refused) {
    ASSERT_FALSE(MakeJob(Options(what, given)));
    const std::string text = ValidValuesText(Options(what, given));
    EXPECT_THAT(text, Not(IsEmpty())) << what;
    std::string name;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (word.starts_with("--")) {
        name = word.substr(2);
      } else if (word != "or") {
        const std::string value = word.substr(0, word.find_first_of(",;"));
        std::map<std::string, std::string> tried = given;
        EXPECT_NE(tried.at(name), value) << text;
        tried[name] = value;
        EXPECT_TRUE(MakeJob(Options(what, tried))) << text << ": " << name << " " << value;
      }
    }
    EXPECT_THAT(MakeJobOrSuggest(Options(what, given)).error().message, HasSubstr(text));
  }
}

TEST(ValidValues, NearestFirst) {
  EXPECT_EQ(ValidValuesText(Options("llama3-70b", {{"tp", "3"}})), "--tp 1, 2, 4 or 8");
}

TEST(ValidValues, NothingIsSaidWhereNoSizeMendsIt) {
  const JobOptions options = Options("gpt-small", {{"tp", "2"}, {"schedule", "1f1"}});
  EXPECT_EQ(ValidValuesText(options), "");
  EXPECT_THAT(MakeJobOrSuggest(options).error().message, Not(HasSubstr("breaks no rule")));
}

}  // namespace
}  // namespace reprise
