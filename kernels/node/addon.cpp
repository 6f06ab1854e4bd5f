/* The kernels as a Node-API addon. Only the files of this folder use Node's API. The addon copies its arguments,
 * submits jobs to the pool, and calls back on the event loop; src/kernels/addon.ts turns callbacks into promises.
 *
 *   variants()                                         [{ name, isRunnable }], fastest first
 *   choose(name | undefined)                           the name of the kernels that serve
 *   open(variant, starts, dimension, tokens, profiles?) a store; rows are { values } or { path, byteOffset }
 *   close(store)
 *   abandon(store)                                     reports to the garbage collector the bytes that the store holds
 *   gpus()                                             the GPUs, or { obstacle }
 *   load(store, callback)                              copies a store into GPU memory: a search
 *   maxsim(store, queries, eligible, isOnGpu, threads, isLowPriority, callback)            a search
 *   sweep(store, queries, eligible or lists, floor, isOnGpu, threads, isLowPriority, callback)
 *                                                      the same with excesses; lists are for the CPU only
 *   nearest(store, queries, eligible, wanted, isLowPriority, callback)                     a search, on the GPU
 *   affine(store, query, targets, parameters, work, isOnGpu, threads, isLowPriority, callback)  a search: 'scores',
 *                                                      'measures' (with both sums of MaxSim), 'profiles' (profile
 *                                                      scores) or 'alignments';
 *                                                      { leastScores, maxCount } for lists of alignments
 *   openCodes(variant, starts, dimension, words, path)  the centroids, and the centroid ids of a release
 *   codeTable(codes, queries, threads, isLowPriority, callback)                            a search: a table
 *   codeSums(codes, table, lengths, eligible, floor, threads, isLowPriority, callback)     a search by such a table,
 *                                                      whose result is a handle
 *   openLetters(variant, starts, text)                 the amino acids of a release, a character per residue
 *   kmerScores(letters, texts, eligible, threads, isLowPriority, callback)                 a search by k-mers,
 *                                                      likewise
 *   coarseScores(sums, kmers)                          what the two handles hold, at once
 *   hits(codes, sums, kmers, eligible, count, threads, isLowPriority, callback)            a search: the best targets
 *                                                      by what the two handles hold; it empties them
 *   assign(dimension, parents, children, rows, threads, isLowPriority, callback)           a search: nearest centroids
 *   openEncoder(variant, model)                        an encoder of int8 weights; undefined if the kernels have none
 *   encode(encoder, letters)                           vectors of a protein's residues, at once
 *   cancel(search)
 *   limitMemory(bytes)                                 limits the resident bytes of later mappings
 *   selfScore(query, dimension, parameters)            the affine score of a protein with itself, at once
 *   secondMoments(rows, dimension)                     the upper triangle of the rows' second moments, at once
 *   bestByRanks(values, orders, most)                  the best places by the product of their ranks, at once
 *
 * Errors have a code: KERNEL_SHAPE (invalid argument), KERNEL_STORE (file), KERNEL_DEVICE (GPU), KERNEL_BUSY (other
 * searches use the GPU memory), KERNEL_FAILED (out of memory), KERNEL_CANCELLED.
 */
#include "node/addon_affine.h"
#include "node/addon_callback.h"
#include "node/addon_coded.h"
#include "node/addon_encoder.h"
#include "node/addon_values.h"
#include "cuda/host/image.h"
#include "engine/evidence.h"
#include "engine/listed_search.h"
#include "engine/moments.h"
#include "engine/residency.h"

namespace gloaming {
namespace {

struct OpenStore {
  std::shared_ptr<const Store> store;
  const Kernels* kernels;
  /* Bytes reported to the garbage collector. */
  int64_t abandonedBytes = 0;
};

/* One pool for the process, shared by all its environments. It is never destroyed: threads may outlive main. */
Pool& pool() {
  static Pool* const shared = new Pool;
  return *shared;
}

/* All GPUs, one fleet per process. It is opened on first use, and again after a failure. Never destroyed, like the
 * pool. Errors  CudaError with the reason if there is none */
cuda::Fleet& fleet() {
  static std::mutex mutex;
  static cuda::Fleet* shared = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (shared == nullptr) {
    std::string obstacle;
    const cuda::Driver* driver = cuda::systemDriver(obstacle);
    if (driver == nullptr) throw cuda::CudaError(obstacle);
    shared = new cuda::Fleet(*driver, cuda::cudaImage());
  }
  return *shared;
}

/* Copies a release into GPU memory, off the event loop. */
class LoadJob : public Search {
 public:
  using Search::Search;

 protected:
  uint64_t prepare() override {
    store_->checkFiles();
    fleet().hold(store_, cancelled_);
    return 0;
  }
  void run(uint64_t, Workspace&) override {}
};

/* Runs a function of the addon, and converts its exceptions into errors with a code. */
template <Napi::Value (*body)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return body(info);
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw toError(info.Env(), std::current_exception());
  }
}

OpenStore& openStore(const Napi::Value& value) {
  if (!value.IsExternal()) throw ShapeError("the store is not one that these kernels opened");
  OpenStore& open = *value.As<Napi::External<OpenStore>>().Data();
  if (open.store == nullptr) throw ShapeError("the store is closed");
  return open;
}

uint32_t threadCount(const Napi::Value& threads) {
  if (threads.IsUndefined()) return availableProcessors();
  return static_cast<uint32_t>(wholeNumber(threads, kMaxThreads, "the number of threads"));
}

Priority priorityOf(const Napi::Value& isLowPriority) {
  return isLowPriority.ToBoolean() ? Priority::kLow : Priority::kNormal;
}

Napi::Value submit(Napi::Env env, std::shared_ptr<Search> search, uint32_t threads, Priority priority) {
  auto* held = new std::weak_ptr<Search>(search);
  pool().submit(std::move(search), threads, priority);
  return Napi::External<std::weak_ptr<Search>>::New(env, held, [](Napi::Env, std::weak_ptr<Search>* p) { delete p; });
}

Napi::Value variants(const Napi::CallbackInfo& info) {
  size_t count = 0;
  const Kernels* const* all = compiledKernels(&count);
  Napi::Array list = Napi::Array::New(info.Env(), count);
  for (uint32_t k = 0; k < count; ++k) {
    Napi::Object variant = Napi::Object::New(info.Env());
    variant["name"] = Napi::String::New(info.Env(), all[k]->name);
    variant["isRunnable"] = Napi::Boolean::New(info.Env(), canRun(*all[k]));
    list[k] = variant;
  }
  return list;
}

const Kernels& kernelsNamed(const Napi::Value& name) {
  const std::string wanted = name.IsString() ? name.As<Napi::String>().Utf8Value() : "";
  const Kernels* kernels = chooseKernels(wanted.c_str());
  if (kernels == nullptr) throw ShapeError("the kernels '" + wanted + "' are unknown or cannot run on this machine");
  return *kernels;
}

Napi::Value choose(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), kernelsNamed(info[0]).name); }

Napi::Value open(const Napi::CallbackInfo& info) {
  const Kernels& kernels = kernelsNamed(info[0]);
  std::vector<uint32_t> starts = copyIndices(info[1], "the residue starts");
  const auto dimension = static_cast<uint32_t>(wholeNumber(info[2], kMaxDimension, "the dimension"));
  const auto store = withRows(info[3], "the tokens", [&](auto... place) {
    return std::make_shared<Store>(std::move(starts), dimension, place...);
  });
  if (!info[4].IsUndefined()) {
    withRows(info[4], "the profiles", [&](auto... place) { store->setProfiles(place...); });
  }
  auto* held = new OpenStore{store, &kernels};
  return Napi::External<OpenStore>::New(info.Env(), held, [](Napi::Env env, OpenStore* open) {
    Napi::MemoryManagement::AdjustExternalMemory(env, -open->abandonedBytes);
    delete open;
  });
}

Napi::Value limitMemory(const Napi::CallbackInfo& info) {
  Residency::ofProcess().limit(wholeNumber(info[0], 9007199254740991.0, "the memory"));
  return info.Env().Undefined();
}

Napi::Value close(const Napi::CallbackInfo& info) {
  openStore(info[0]).store.reset();
  return info.Env().Undefined();
}

Napi::Value abandon(const Napi::CallbackInfo& info) {
  OpenStore& open = openStore(info[0]);
  if (open.abandonedBytes == 0) {
    open.abandonedBytes = static_cast<int64_t>(uint64_t{open.store->residueCount()} * open.store->dimension());
    Napi::MemoryManagement::AdjustExternalMemory(info.Env(), open.abandonedBytes);
  }
  return info.Env().Undefined();
}

/* MaxSim of all queries with the same targets. From argument `at` on: isOnGpu, threads, isLowPriority, callback. */
Napi::Value compareAll(const Napi::CallbackInfo& info, uint32_t at, std::optional<int32_t> floor) {
  const OpenStore& open = openStore(info[0]);
  std::vector<OwnedQuery> queries = copyQueries(info[1], open.store->dimension());
  std::optional<std::vector<uint32_t>> eligible = copyEligible(info[2]);
  const uint32_t threads = threadCount(info[at + 1]);
  // Nothing after this may throw: an open callback keeps the event loop alive.
  cuda::Fleet* gpus = info[at].ToBoolean() ? &fleet() : nullptr;
  auto done = callOnLoop(info.Env(), info[at + 3], sumsToValue);
  std::shared_ptr<Search> search;
  if (gpus != nullptr) {
    search = std::make_shared<cuda::FleetSearch>(*gpus, *open.kernels, open.store, std::move(queries),
                                                 std::move(eligible), std::nullopt, std::move(done), floor);
  } else {
    search = std::make_shared<MaxSimSearch>(*open.kernels, open.store, std::move(queries), std::move(eligible),
                                            std::move(done), floor);
  }
  return submit(info.Env(), std::move(search), threads, priorityOf(info[at + 2]));
}

Napi::Value maxsim(const Napi::CallbackInfo& info) { return compareAll(info, 3, std::nullopt); }

Napi::Value sweep(const Napi::CallbackInfo& info) {
  const auto floor = static_cast<int32_t>(wholeNumber(info[3], INT16_MAX, "the floor"));
  std::optional<std::vector<std::vector<uint32_t>>> lists = copyLists(info[2]);
  if (!lists) return compareAll(info, 4, floor);
  if (info[4].ToBoolean()) throw ShapeError("lists of each query's own are swept by the CPU");
  const OpenStore& open = openStore(info[0]);
  std::vector<OwnedQuery> queries = copyQueries(info[1], open.store->dimension());
  const uint32_t threads = threadCount(info[5]);
  auto done = callOnLoop(info.Env(), info[7], sumsToValue);
  auto search = std::make_shared<ListedSearch>(*open.kernels, open.store, std::move(queries), std::move(*lists), floor,
                                               std::move(done));
  return submit(info.Env(), std::move(search), threads, priorityOf(info[6]));
}

Napi::Value nearest(const Napi::CallbackInfo& info) {
  const OpenStore& open = openStore(info[0]);
  std::vector<OwnedQuery> queries = copyQueries(info[1], open.store->dimension());
  std::optional<std::vector<uint32_t>> eligible = copyEligible(info[2]);
  const auto wanted = static_cast<uint32_t>(wholeNumber(info[3], 1e9, "the number of targets"));
  if (wanted == 0) throw ShapeError("at least one target must be wanted");
  cuda::Fleet& gpus = fleet();
  auto done = callOnLoop(info.Env(), info[5], nearestToValue);
  auto search = std::make_shared<cuda::FleetSearch>(gpus, *open.kernels, open.store, std::move(queries),
                                                    std::move(eligible), wanted, std::move(done));
  // One pool thread per GPU. Their number is known only when the release has been loaded.
  return submit(info.Env(), std::move(search), availableProcessors(), priorityOf(info[4]));
}

Napi::Value load(const Napi::CallbackInfo& info) {
  const OpenStore& open = openStore(info[0]);
  const auto nothing = [](Napi::Env env, const Search&) -> Napi::Value { return env.Undefined(); };
  auto done = callOnLoop(info.Env(), info[1], nothing);
  return submit(info.Env(), std::make_shared<LoadJob>(*open.kernels, open.store, std::move(done)), 1,
                Priority::kNormal);
}

Napi::Value gpus(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Object result = Napi::Object::New(env);
  try {
    putGpus(env, fleet(), result);
  } catch (const cuda::CudaError& error) {
    result["obstacle"] = Napi::String::New(env, error.what());
  }
  return result;
}

Napi::Value affine(const Napi::CallbackInfo& info) {
  const OpenStore& open = openStore(info[0]);
  AffineArguments given = copyAffine(info, open.store->dimension());
  cuda::Fleet* gpus = info[5].ToBoolean() ? &fleet() : nullptr;
  const uint32_t threads = threadCount(info[6]);
  auto done = callOnLoop(info.Env(), info[8], affineToValue);
  auto search = makeAffine(gpus, *open.kernels, open.store, std::move(given), std::move(done));
  return submit(info.Env(), std::move(search), threads, priorityOf(info[7]));
}

Napi::Value openCodes(const Napi::CallbackInfo& info) {
  const Kernels& kernels = kernelsNamed(info[0]);
  const auto dimension = static_cast<uint32_t>(wholeNumber(info[2], kMaxDimension, "the dimension"));
  const auto words = typedArray<Napi::Int8Array>(info[3], napi_int8_array, "the words");
  auto codes = std::make_shared<Codes>(kernels, copyIndices(info[1], "the residue starts"), dimension, words.Data(),
                                       words.ElementLength(), info[4].ToString().Utf8Value());
  return hold(info.Env(), OpenCodes{std::move(codes), &kernels});
}

Napi::Value openLetters(const Napi::CallbackInfo& info) {
  const Kernels& kernels = kernelsNamed(info[0]);
  const auto text = typedArray<Napi::Uint8Array>(info[2], napi_uint8_array, "the letters");
  auto letters =
      std::make_shared<TargetLetters>(copyIndices(info[1], "the residue starts"), text.Data(), text.ElementLength());
  return hold(info.Env(), OpenLetters{std::move(letters), &kernels});
}

Napi::Value openModel(const Napi::CallbackInfo& info) {
  return openEncoder(info.Env(), kernelsNamed(info[0]), info[1]);
}

/* Submits the search that `make` makes of all arguments. `at` is the place of the number of threads, before the
 * priority. */
template <std::shared_ptr<Search> (*make)(const Napi::CallbackInfo&), size_t at>
Napi::Value submitted(const Napi::CallbackInfo& info) {
  const uint32_t threads = threadCount(info[at]);
  return submit(info.Env(), make(info), threads, priorityOf(info[at + 1]));
}

Napi::Value cancel(const Napi::CallbackInfo& info) {
  if (!info[0].IsExternal()) throw ShapeError("the search is not one that these kernels started");
  if (const auto search = info[0].As<Napi::External<std::weak_ptr<Search>>>().Data()->lock()) search->cancel();
  return info.Env().Undefined();
}

Napi::Value self(const Napi::CallbackInfo& info) {
  const auto dimension = static_cast<uint32_t>(wholeNumber(info[1], kMaxDimension, "the dimension"));
  const OwnedQuery query = copyQuery(info[0], dimension);
  return Napi::Number::New(info.Env(), checkedSelfScore(query, copyParameters(info[2]), copyLetters(info[2])));
}

Napi::Value moments(const Napi::CallbackInfo& info) {
  const auto rows = typedArray<Napi::Int8Array>(info[0], napi_int8_array, "the rows");
  const auto dimension = static_cast<uint32_t>(wholeNumber(info[1], kMaxDimension, "the dimension"));
  if (dimension == 0 || rows.ElementLength() % dimension != 0) throw ShapeError("the rows must be whole");
  const size_t count = rows.ElementLength() / dimension;
  if (count > kMaxLength) throw ShapeError("there are too many rows");
  return copyOut<Napi::Int32Array>(info.Env(), secondMoments(rows.Data(), static_cast<uint32_t>(count), dimension));
}

Napi::Value ranked(const Napi::CallbackInfo& info) {
  const auto values = typedArray<Napi::Float64Array>(info[0], napi_float64_array, "the values");
  const auto orders = static_cast<uint32_t>(wholeNumber(info[1], 8, "the number of orders"));
  const auto most = static_cast<uint32_t>(wholeNumber(info[2], UINT32_MAX, "the largest number of places"));
  if (orders == 0 || values.ElementLength() % orders != 0) throw ShapeError("each order must have all values");
  const auto items = static_cast<uint32_t>(values.ElementLength() / orders);
  return copyOut<Napi::Uint32Array>(info.Env(), bestByRanks(values.Data(), orders, items, most));
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports["variants"] = Napi::Function::New(env, guarded<variants>);
  exports["choose"] = Napi::Function::New(env, guarded<choose>);
  exports["open"] = Napi::Function::New(env, guarded<open>);
  exports["close"] = Napi::Function::New(env, guarded<close>);
  exports["abandon"] = Napi::Function::New(env, guarded<abandon>);
  exports["load"] = Napi::Function::New(env, guarded<load>);
  exports["gpus"] = Napi::Function::New(env, guarded<gpus>);
  exports["maxsim"] = Napi::Function::New(env, guarded<maxsim>);
  exports["sweep"] = Napi::Function::New(env, guarded<sweep>);
  exports["nearest"] = Napi::Function::New(env, guarded<nearest>);
  exports["affine"] = Napi::Function::New(env, guarded<affine>);
  exports["openCodes"] = Napi::Function::New(env, guarded<openCodes>);
  exports["codeTable"] = Napi::Function::New(env, guarded<submitted<makeTable, 2>>);
  exports["codeSums"] = Napi::Function::New(env, guarded<submitted<makeCodeSums, 5>>);
  exports["openLetters"] = Napi::Function::New(env, guarded<openLetters>);
  exports["kmerScores"] = Napi::Function::New(env, guarded<submitted<makeKmerScores, 3>>);
  exports["coarseScores"] = Napi::Function::New(env, guarded<coarseScores>);
  exports["hits"] = Napi::Function::New(env, guarded<submitted<makeHits, 5>>);
  exports["assign"] = Napi::Function::New(env, guarded<submitted<makeAssignment, 4>>);
  exports["openEncoder"] = Napi::Function::New(env, guarded<openModel>);
  exports["encode"] = Napi::Function::New(env, guarded<encode>);
  exports["limitMemory"] = Napi::Function::New(env, guarded<limitMemory>);
  exports["cancel"] = Napi::Function::New(env, guarded<cancel>);
  exports["selfScore"] = Napi::Function::New(env, guarded<self>);
  exports["secondMoments"] = Napi::Function::New(env, guarded<moments>);
  exports["bestByRanks"] = Napi::Function::New(env, guarded<ranked>);
  return exports;
}

NODE_API_MODULE(kernels, initialize)

}  // namespace
}  // namespace gloaming
