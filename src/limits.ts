/* Every bound of the appliance, with its unit last in the name. Nothing grows without one. */

export const KIBIBYTE_BYTES = 1024;
export const MEBIBYTE_BYTES = 1024 * KIBIBYTE_BYTES;
export const GIBIBYTE_BYTES = 1024 * MEBIBYTE_BYTES;

/** Sums of maxima fit int32 up to this length: 65,535 × 32,767 < 2³¹. */
export const PROTEIN_MAX_RESIDUES = 65_535;
/** Targets of one release; target indices are uint32 and leave room for sentinels. */
export const RELEASE_MAX_TARGETS = 500_000_000;
/** Residues of one release; residue starts are uint32. */
export const RELEASE_MAX_RESIDUES = 4_294_967_295;
/** Shards of a build. An array job of Slurm has at most 1,001 tasks by default. */
export const BUILD_MAX_SHARDS = 1_000;
/** Directory of an archive of embeddings: about 80 bytes per protein, in memory while the archive is read. */
export const EMBEDDINGS_MAX_DIRECTORY_BYTES = 256 * 1024 * 1024;
/** Tasks of a batch search, and partitions of its database. */
export const BATCH_MAX_TASKS = 1_000;
/** Largest squared norm of an int8 residue vector, so that every dot product fits in int16. */
export const TOKEN_MAX_SQUARED_NORM = 32_767;
export const TOKEN_DIMENSIONS = [32, 64, 96, 128, 160, 192, 224, 256] as const;

export const INLINE_MAX_CANDIDATES = 5_000;
export const RETAINED_MAX_CANDIDATES = 10_000;
/** Most alignments of one candidate that a request may ask for; kMaxAlignments of kernels/kernels.h. */
export const PAIR_ALIGNMENTS_MAX_COUNT = 100;
/** Alignments of one candidate, and the largest E-value of a further one, if a request names neither. HMMER includes
 * domains up to the same E-value. */
export const ALIGNMENTS_COUNT = 10;
export const ALIGNMENTS_EXPECTED_FALSE_HITS = 0.01;
/** Largest E-value of a pair, or of one of its alignments, that is refined in stretches, if more are not asked for. */
export const ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS = 10;
/** Largest E-value of a domain of an annotated protein, if a request names none. */
export const ANNOTATION_EXPECTED_FALSE_HITS = 1e-3;
/** Searches of one protein that is annotated: later ones are of what has no domain yet. */
export const ANNOTATION_MAX_ROUNDS = 10;
/** Largest number of proteins that E-values may be given for. */
export const DATABASE_SIZE_MAX = 1_000_000_000_000;
export const INLINE_RESPONSE_MAX_BYTES = 16 * MEBIBYTE_BYTES;
/** Up to this size, a body that was written in pieces is sent as one. */
export const WRITTEN_BODY_MAX_BYTES = 256 * KIBIBYTE_BYTES;
export const DATABASE_SELECTOR_MAX_CHARACTERS = 256;
export const IDEMPOTENCY_KEY_MAX_CHARACTERS = 255;
export const IDEMPOTENCY_RETENTION_MS = 24 * 60 * 60 * 1000;

export const FILTER_MAX_DEPTH = 16;
export const FILTER_MAX_CLAUSES = 1_024;
export const FILTER_MAX_VALUES = 10_000;
export const FILTER_VALUE_MAX_CHARACTERS = 1_024;
/** Invalid places of a filter that a refusal lists. There may be more. */
export const FILTER_MAX_REPORTED_FAULTS = 256;
/** Values of contains_any and contains_all on text fields. Each is searched in every text of the release. */
export const FILTER_MAX_SUBSTRINGS = 1_024;
/** Distinct values of a field that are cached in memory, each with a code, from its first filter on. */
export const FILTER_DICTIONARY_MAX_VALUES = 262_144;

/** Default limit on the downloads of `gloaming refresh`, and the time that a server may send nothing. */
export const REFRESH_DOWNLOAD_MAX_BYTES = 64 * GIBIBYTE_BYTES;
export const REFRESH_SILENCE_TIMEOUT_MS = 60_000;
/** Earlier releases from which a build reuses tokens. */
export const REUSED_RELEASES_MAX_COUNT = 16;

export const FASTA_ID_MAX_CHARACTERS = 256;
export const FASTA_LINE_MAX_BYTES = 64 * MEBIBYTE_BYTES;
/** Bytes after a header, white space included: 65,535 residues, one per line with CRLF, and a large margin. */
export const FASTA_SEQUENCE_MAX_BYTES = MEBIBYTE_BYTES;
export const ATTRIBUTE_MAX_FIELDS = 256;
export const ATTRIBUTE_MAX_CHARACTERS = 32_768;
/** Total of all attributes of one target. It bounds the memory of a batch of targets. */
export const ATTRIBUTES_MAX_CHARACTERS = 65_536;

/** Share of one organization in a bound of all, per free unit: nine tenths if alone. Ten leave 1/91 for others. */
export const ORGANIZATION_MAX_PER_FREE = 9;

/** Stored receipts, in count and in bytes. At either bound, the organization with the most loses its oldest. */
export const RECEIPTS_MAX_COUNT = 200_000;
export const RECEIPTS_MAX_BYTES = 16 * GIBIBYTE_BYTES;
/**
 * Stored target spaces of one organization, and bytes of their filters. At either bound new ones are refused: ids of
 * target spaces work for ever, so none is deleted.
 */
export const TARGET_SPACES_MAX_COUNT = 1_000_000;
export const TARGET_SPACES_MAX_BYTES = GIBIBYTE_BYTES;
/** Organization of console visitors without a key, where the settings let them search. */
export const OPEN_ORGANIZATION = 'console-open';
/** Their searches that run or wait at once, so that those of keys have the rest of the queue. */
export const OPEN_EXECUTIONS_MAX_COUNT = 8;
/** Receipts, alignments (both in count and bytes) and components that they leave. Their oldest are deleted first. */
export const OPEN_RECEIPTS_MAX_COUNT = 10_000;
export const OPEN_RECEIPTS_MAX_BYTES = GIBIBYTE_BYTES;
export const OPEN_MSAS_MAX_COUNT = 1_000;
export const OPEN_MSAS_MAX_BYTES = GIBIBYTE_BYTES;
/** Target spaces of such visitors, which are in memory only, and characters of their filters. */
export const OPEN_TARGET_SPACES_MAX_COUNT = 1_000;
export const OPEN_TARGET_SPACES_MAX_CHARACTERS = 16 * MEBIBYTE_BYTES;
/** Candidates of cached search results, for equal requests. */
export const SEARCH_CACHE_MAX_CANDIDATES = 500_000;
/** One precomputed alignment of a protein. */
export const ALIGNMENT_MAX_BYTES = 64 * MEBIBYTE_BYTES;
export const ALIGNMENT_MAX_ROWS = 20_000;
/** Rows of one family that are sampled (to twice as many are in memory), and their letters and gaps. */
export const FAMILY_MAX_ROWS = 1_024;
export const FAMILY_MAX_CELLS = 32 * MEBIBYTE_BYTES;
/** Entries of one HH-suite database, whose index is in memory. */
export const FAMILY_INDEX_MAX_ENTRIES = 4_000_000;
/** Cached tokens of queries with homologs, for each release. */
export const HOMOLOG_CACHE_MAX_BYTES = 64 * MEBIBYTE_BYTES;
/** Releases that are open at once (tables in memory, tokens mapped). The least recently used one is closed first. */
export const OPEN_RELEASES_MAX_COUNT = 16;
/** Cached target spaces, in total eligible targets. */
export const TARGET_SPACE_CACHE_MAX_TARGETS = 20_000_000;

/** Request bodies; a route may set its own. */
export const BODY_MAX_BYTES = MEBIBYTE_BYTES;
/** Bytes of a refused body that are read and discarded, so that the client receives the refusal. */
export const BODY_DISCARD_MAX_BYTES = 16 * MEBIBYTE_BYTES;
/** Longest body of a request that was refused before its body was read. The refusal has its hash. */
export const REFUSED_BODY_READ_MAX_BYTES = 64 * KIBIBYTE_BYTES;
/** Nesting depth of a JSON body: enough for the deepest filter, and a bound on recursion. */
export const JSON_MAX_DEPTH = 64;
/** Values in a JSON body. It bounds work and memory of validation. */
export const JSON_MAX_VALUES = 50_000;
/** Consecutive white space between two tokens of a JSON body, and characters of one number. */
export const JSON_BLANKS_MAX_BYTES = MEBIBYTE_BYTES;
export const JSON_NUMBER_MAX_BYTES = KIBIBYTE_BYTES;
/** From this size on, functions that read a whole body pause for other requests. */
export const BODY_IN_TURNS_BYTES = 256 * KIBIBYTE_BYTES;
/** Request line and headers together. */
export const HEADER_MAX_BYTES = 16 * KIBIBYTE_BYTES;
/** Invalid places that one refusal lists. The message has their total number. */
export const REFUSAL_MAX_LOCATIONS = 100;
/** Log lines that are not written yet. */
export const LOG_WAITING_MAX_BYTES = 8 * MEBIBYTE_BYTES;
/** One log line. A longer one is cut. */
export const LOG_LINE_MAX_CHARACTERS = 32_768;
/** Stored keyed responses, in count and in bytes. At its share of either bound, an organization stores no more. */
export const IDEMPOTENCY_MAX_RESPONSES = 1_000_000;
export const IDEMPOTENCY_MAX_BYTES = 4 * GIBIBYTE_BYTES;

/** Ids of queries that one command compares with each other; about 100 MB. */
export const COMPARED_IDS_MAX_COUNT = 1_000_000;
/** Queries of one batch, and characters of its FASTA text after decompression, in a request or in an uploaded file. */
export const BATCH_MAX_QUERIES = 100_000;
export const BATCH_FASTA_MAX_CHARACTERS = 60 * MEBIBYTE_BYTES;
/** Body of a run: room for 100,000 queries of average length, each an object of two members. */
export const RUN_BODY_MAX_BYTES = 64 * MEBIBYTE_BYTES;
export const RUN_BODY_MAX_VALUES = 3 * BATCH_MAX_QUERIES + JSON_MAX_VALUES;
/** Queued and running runs, in total and per organization. A further run is refused. */
export const UNFINISHED_RUNS_MAX_COUNT = 10_000;
export const UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT = 1_000;
/** Stored runs. At its share of the bound, an organization creates no more. No run is deleted before its time. */
export const RUNS_MAX_COUNT = 500_000;
/** Retention of the results of a finished run. The run itself is retained twice as long. */
export const RUN_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
/** Longest wait of one request for the end of a run. */
export const RUN_WAIT_MAX_SECONDS = 60;
/**
 * Starts of one run without progress in between. Then the run fails, so that it does not crash every later server.
 * After the first few, the wait doubles before each start. A server that is killed for other reasons thus fails no run
 * within hours.
 */
export const RUN_MAX_FRUITLESS_ATTEMPTS = 20;
export const RUN_PROMPT_ATTEMPTS_MAX_COUNT = 4;
export const RUN_ATTEMPT_WAIT_MAX_MS = 60 * 60 * 1000;
/** Rows, and bytes before compression, of one stored block of results. */
export const RUN_BLOCK_MAX_ROWS = 500;
export const RUN_BLOCK_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Bytes of one page of results, or of runs. */
export const RUN_PAGE_MAX_BYTES = 8 * MEBIBYTE_BYTES;
/** Bytes of a page that are kept free for the members around its rows. */
export const RUN_PAGE_HEAD_BYTES = 4_096;
/** Concurrently open event streams, in total and per organization. */
export const RUN_STREAMS_MAX_COUNT = 1_000;
export const RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT = 100;
/** Runs that are read for one page of a filtered list. */
export const RUN_LIST_MAX_SCANNED = 2_000;
/** Queries that kernels compare with each target together, and their total residues. */
export const BATCH_PACK_MAX_QUERIES = 256;
export const BATCH_PACK_MAX_RESIDUES = 65_536;
/** Pairs of query and target in one search of many queries. Each pair holds two int32 sums until the ranking. */
export const BATCH_PACK_MAX_PAIRS = 16_000_000;
/** Candidates that one search of many queries may return, alignments included. */
export const BATCH_PACK_MAX_CANDIDATES = 100_000;
/** Queries of one search that are aligned, judged and sealed concurrently. */
export const QUERIES_AT_WORK_MAX_COUNT = 4;
/** Concurrent turns of runs: one uses the kernels while the results of another are written. */
export const RUNS_AT_WORK_MAX_COUNT = 2;

/** Path of a file that a run writes. Unit  characters; the reader of the path bounds it again in bytes */
export const RUN_OUTPUT_PATH_MAX_CHARACTERS = 1_024;
/** Bytes of an export that are hashed and written before others get a turn. */
export const EXPORT_WRITE_MAX_BYTES = 256 * KIBIBYTE_BYTES;
/** Rows and text bytes of one row group (Parquet) or record batch (Arrow), which an export holds in memory. */
export const EXPORT_GROUP_MAX_ROWS = 2_048;
export const EXPORT_GROUP_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Candidates of one query that are sorted, or counted, before the first is written. */
export const EXPORT_QUERY_MAX_BYTES = 256 * MEBIBYTE_BYTES;
/** Columns that a request for a table may name. */
export const EXPORT_FIELDS_MAX_COUNT = 64;
/** Total length of their names. Unit  characters */
export const EXPORT_FIELDS_MAX_CHARACTERS = 1_024;
/** Distinct targets of a FASTA export, whose ids are in memory until its end. */
export const EXPORT_FASTA_MAX_TARGETS = 2_000_000;

/** Nesting depth of a predictor's output folders. */
export const PREDICTOR_OUTPUT_MAX_DEPTH = 8;
/** Stored bytes of the predictor's log, from its beginning. */
export const PREDICTOR_LOG_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Time from SIGTERM to SIGKILL. */
export const PREDICTOR_KILL_GRACE_MS = 5_000;

/** Rows of one multiple sequence alignment, the query included, and bytes of its text. */
export const MSA_MAX_DEPTH = 100_000;
export const MSA_DEFAULT_DEPTH = 5_000;
export const MSA_MAX_BYTES = 256 * MEBIBYTE_BYTES;
/** Default E-value and coverage bounds of alignment rows: a row must be a homolog and cover enough columns. */
export const MSA_DEFAULT_EXPECTED_FALSE_HITS = 1e-3;
/** Searches that find the rows of one alignment, and the largest E-value of a hit that enters the next profile. */
export const MSA_MAX_ROUNDS = 3;
export const MSA_PROFILE_EXPECTED_FALSE_HITS = 1e-4;
export const MSA_DEFAULT_NORMALIZED_SCORE = 0.25;
export const MSA_DEFAULT_QUERY_COVERAGE = 0.5;
export const MSA_DEFAULT_PAIRWISE_IDENTITY = 0.95;
/** Alignments, in count and bytes, and components. At a bound, the organization with the most loses its oldest. */
export const MSAS_MAX_COUNT = 100_000;
export const MSAS_MAX_BYTES = 64 * GIBIBYTE_BYTES;
export const MSA_COMPONENTS_MAX_COUNT = 200_000;

// ColabFold's MSA interface (services/colabfold/).
/** Sequences of one ticket, and characters of one name. The id of a ticket contains them all. */
export const COLABFOLD_QUERIES_MAX_COUNT = 32;
export const COLABFOLD_NAME_MAX_CHARACTERS = 64;
export const COLABFOLD_FORM_MAX_BYTES = MEBIBYTE_BYTES;
/** Longest wait of one request. Clients time out after 6 s and ask again. */
export const COLABFOLD_ANSWER_MAX_MS = 5_000;
/**
 * Largest identity of two rows, of which the first stays. It is tightened as far as every 50 columns keep enough rows.
 */
export const COLABFOLD_PAIRWISE_IDENTITY = 0.95;
export const COLABFOLD_DIVERSE_ROWS = 3_000;
/** Candidates of a ticket's search whose rows a second run finds anew, in rounds. */
export const COLABFOLD_FIRST_ROUND_LIMIT = 250;
/** Text of one archive, and bytes of the archives that are cached for later requests of a client. */
export const COLABFOLD_ARCHIVE_MAX_BYTES = 64 * MEBIBYTE_BYTES;
export const COLABFOLD_ARCHIVES_MAX_BYTES = 64 * MEBIBYTE_BYTES;
/** Cached alignments of single runs, of which archives are made: room for the largest one and for smaller ones. */
export const COLABFOLD_BLOCKS_MAX_BYTES = 96 * MEBIBYTE_BYTES;
/** Archives in the making: at once in total (one per organization), and waiting per organization. */
export const COLABFOLD_ARCHIVES_AT_WORK_MAX_COUNT = 2;
export const COLABFOLD_ARCHIVES_WAITING_MAX_COUNT = 32;
/** Time after which an archive that no request waits for is cancelled. A client that timed out asks again at once. */
export const COLABFOLD_ARCHIVE_ABANDONED_MS = 10_000;
/** Runs of one sequence within a day, after the earlier ones have failed or were cancelled. */
export const COLABFOLD_ATTEMPTS_MAX_COUNT = 8;

/** One uploaded file and its parts, with the bounds of S3. */
export const UPLOAD_MAX_BYTES = 5 * 1024 * GIBIBYTE_BYTES;
export const PART_MIN_BYTES = 5 * MEBIBYTE_BYTES;
export const PART_MAX_BYTES = 5 * GIBIBYTE_BYTES;
export const PART_DEFAULT_BYTES = 8 * MEBIBYTE_BYTES;
export const UPLOAD_MAX_PARTS = 10_000;
/** Part URLs per request. */
export const PART_URLS_MAX_COUNT = 1_000;
/** Lifetime of an open upload, and retention of an ended one. */
export const UPLOAD_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
export const UPLOAD_MEMORY_MS = 30 * 24 * 60 * 60 * 1000;
/** Time during which a started completion prevents the expiry of its upload. */
export const UPLOAD_COMPLETION_GRACE_MS = 60 * 60 * 1000;
export const PART_URL_LIFETIME_MS = 60 * 60 * 1000;
export const OPEN_UPLOADS_PER_ORGANIZATION_MAX_COUNT = 1_000;
/** Files of one organization. It bounds the work of one request that deletes a folder. */
export const FILES_PER_ORGANIZATION_MAX_COUNT = 100_000;
/** Paths of stored files. */
export const FILE_PATH_MAX_BYTES = 1_024;
export const FILE_PATH_SEGMENT_MAX_BYTES = 255;
export const FILE_PATH_MAX_DEPTH = 32;
export const FILE_URL_MAX_CHARACTERS = 8_192;
export const FILE_ACL_MAX_RULES = 256;
export const SIGNED_URL_MAX_SECONDS = 604_800;
export const SIGNED_URL_DEFAULT_SECONDS = 3_600;
/** Longest request with a body of bytes. At 250 kB/s this allows the largest part. */
export const BYTE_BODY_MAX_MS = 6 * 60 * 60 * 1000;
/** Fewest bytes of a body that must arrive within each such time: 64 KiB a minute. The rest of a body may be less. */
export const BYTE_BODY_PROGRESS_BYTES = 64 * KIBIBYTE_BYTES;
export const BYTE_BODY_PROGRESS_MS = 60_000;

/** Webhook endpoints of one organization. */
export const WEBHOOK_ENDPOINTS_MAX_COUNT = 32;
export const WEBHOOK_URL_MAX_CHARACTERS = 2_048;
/** Concurrent webhook deliveries: to one endpoint, of one organization, in total. */
export const WEBHOOK_ATTEMPTS_PER_ENDPOINT_MAX_COUNT = 2;
export const WEBHOOK_ATTEMPTS_PER_ORGANIZATION_MAX_COUNT = 8;
export const WEBHOOK_ATTEMPTS_AT_ONCE_MAX_COUNT = 256;
/** Share of an organization's attempts that is reserved for responsive endpoints: the share of one endpoint. */
export const WEBHOOK_ATTEMPTS_FOR_ANSWERING_COUNT = 2;
/** Longest duration of one attempt. */
export const WEBHOOK_ATTEMPT_TIMEOUT_MS = 15_000;
/** Bytes of a response that are read before the connection is closed. Only its status counts. */
export const WEBHOOK_ANSWER_MAX_BYTES = 16 * KIBIBYTE_BYTES;
/** Retention of deliveries for look-up and redelivery. */
export const WEBHOOK_DELIVERY_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
/** Time after a rotation during which the earlier secret still signs. */
export const WEBHOOK_SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000;

/** SQL credentials of one organization: active ones, and revoked ones that are retained. */
export const SQL_CREDENTIALS_MAX_COUNT = 64;
/** Concurrent password checks, each 16 MiB and about 50 ms of a core, and waiting checks. */
export const SQL_PASSWORD_CHECKS_AT_ONCE_MAX_COUNT = 2;
export const SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT = 128;
/** Time for which a verified password is cached. */
export const SQL_PASSWORD_CACHE_MS = 60_000;
/** Interval at which open sessions and statements check their credential. */
export const SQL_CREDENTIAL_CHECK_INTERVAL_MS = 250;
export const SQL_STATEMENT_MAX_CHARACTERS = 100_000;
export const SQL_PARAMETERS_MAX_COUNT = 1_000;
/** Rows of one JSON response, and of one streamed result. */
export const SQL_JSON_MAX_ROWS = 100_000;
export const SQL_RESULT_MAX_ROWS = 100_000_000;
export const SQL_TIMEOUT_MAX_SECONDS = 3_600;
/** Time after which the engine process of an interrupted statement is killed. */
export const SQL_INTERRUPT_GRACE_MS = 500;
/** Concurrently open engines (one process per organization), and the idle time after which one is closed. */
export const SQL_ENGINES_MAX_COUNT = 8;
export const SQL_ENGINE_IDLE_MS = 5 * 60 * 1000;
/** Longest time for an engine to start and to open its tables. */
export const SQL_ENGINE_START_MAX_MS = 30_000;
/** Running and waiting statements of one organization. */
export const SQL_STATEMENTS_AT_WORK_MAX_COUNT = 4;
export const SQL_STATEMENTS_WAITING_MAX_COUNT = 32;
/** Memory of an engine process beyond the engine's own limit. */
export const SQL_PROCESS_OVERHEAD_BYTES = 384 * MEBIBYTE_BYTES;
/** Rows and bytes of one batch from an engine. */
export const SQL_BATCH_MAX_ROWS = 8_192;
export const SQL_BATCH_MAX_BYTES = 256 * KIBIBYTE_BYTES;
/** Lower bound on the greatest age of the rows of runs and usage. Costly snapshots may be older. */
export const SQL_SNAPSHOT_MIN_AGE_MS = 1_000;
/** Interval at which copies of removed releases are looked for. They are removed while no statement runs. */
export const SQL_COPIES_SWEEP_INTERVAL_MS = 60_000;
/** Usage entries of one Parquet file. */
export const SQL_USAGE_SEGMENT_ROWS = 65_536;
/** Rows, and characters of text, of one Parquet row group. */
export const PARQUET_GROUP_MAX_ROWS = 65_536;
export const PARQUET_GROUP_MAX_CHARACTERS = 64 * MEBIBYTE_BYTES;
/** Time without a fetch after which a result is closed. */
export const SQL_CURSOR_IDLE_MS = 5 * 60 * 1000;

/** Sessions of the PostgreSQL protocol: in total, and per organization. */
export const POSTGRES_SESSIONS_MAX_COUNT = 128;
export const POSTGRES_SESSIONS_PER_ORGANIZATION_MAX_COUNT = 32;
/** Connections that have not sent a password. For a further one, the oldest is closed. */
export const POSTGRES_LOGINS_MAX_COUNT = 64;
/** Longest time from the connection to the login. */
export const POSTGRES_LOGIN_MAX_MS = 15_000;
/** One message before and after the login: a statement or its parameters. */
export const POSTGRES_LOGIN_MESSAGE_MAX_BYTES = 10_000;
export const POSTGRES_MESSAGE_MAX_BYTES = 4 * MEBIBYTE_BYTES;
/** Bytes that are read ahead of the present message. */
export const POSTGRES_READ_AHEAD_BYTES = MEBIBYTE_BYTES;
/** Prepared statements and open portals of one session. */
export const POSTGRES_STATEMENTS_MAX_COUNT = 256;
export const POSTGRES_PORTALS_MAX_COUNT = 16;

// The control store (store/).
/** Reserve of the control state on a full disk: the first half for all writes, the second for deletions. */
export const CONTROL_RESERVE_BYTES = 16 * MEBIBYTE_BYTES;

// GPUs (kernels/turns.ts).
/** Retries for GPU memory that only a cancelled search can still use, and the pause after each. */
export const GPU_BUSY_MAX_ATTEMPTS = 25;
export const GPU_BUSY_PAUSE_MS = 20;

// Workers (services/workers/).
/** Partitions that a release is divided into for workers. */
export const WORKER_MAX_PARTS = 256;
/** Request body for partial results: its queries and its filter. */
export const PARTIAL_RESULTS_REQUEST_MAX_BYTES = 16 * MEBIBYTE_BYTES;
/** Bytes of a worker's refusal that are read. */
export const WORKER_REFUSAL_MAX_BYTES = 16 * KIBIBYTE_BYTES;
/** Packs of runs that wait at a worker for their turn. */
export const WORKER_WAITING_PACKS_MAX_COUNT = 64;
/** Latest response times that determine the hedging delay, with its first value and its lower bound. */
export const HEDGE_TIMES_MAX_COUNT = 64;
export const HEDGE_TIMES_MIN_COUNT = 8;
export const HEDGE_FIRST_MS = 2_000;
export const HEDGE_MIN_MS = 50;
/** Time for which a failed worker gets requests only after the others. */
export const WORKER_DEPRIORITISED_MS = 30_000;
/** Retry interval for clients if a worker is missing and its refusal has none, and its upper bound. */
export const WORKER_RETRY_SECONDS = 5;
export const WORKER_RETRY_MAX_SECONDS = 60;
