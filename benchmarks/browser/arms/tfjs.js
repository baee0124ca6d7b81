/**
 * TensorFlow.js with WebAssembly: a network of MobileBERT's shape with random weights, one window of 128 tokens. The
 * model that its question-answering package downloads is not at hand offline; its norms would be folded, as here.
 */
const [LENGTH, WIDTH, THIN, HEADS, BLOCKS, NETWORKS, WORDS] = [128, 512, 128, 4, 24, 4, 30522];

export async function open() {
  await script("/tfjs-core/tf-core.min.js");
  await script("/tfjs-wasm/tf-backend-wasm.min.js");
  const tf = globalThis.tf;
  tf.wasm.setWasmPaths("/tfjs-wasm/");
  await tf.setBackend("wasm");
  await tf.ready();
  const read = network(tf);
  const ids = Array.from({ length: LENGTH }, (_, place) => (place * 7919) % WORDS);
  return async () => {
    const logits = tf.tidy(() => read(ids));
    const values = await logits.data();
    logits.dispose();
    return { text: "", score: values[0] };
  };
}

function script(src) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject });
    document.head.append(element);
  });
}

function network(tf) {
  const weight = (...shape) => tf.randomNormal(shape, 0, 0.02);
  const dense = (from, to) => {
    const [kernel, bias] = [weight(from, to), tf.zeros([to])];
    return (input, activation) => tf.fused.matMul({ a: input, b: kernel, bias, activation });
  };
  const table = weight(WORDS, THIN);
  const places = weight(LENGTH, WIDTH);
  const widen = dense(3 * THIN, WIDTH);
  const block = () => ({
    input: dense(WIDTH, THIN),
    shared: dense(WIDTH, THIN),
    query: dense(THIN, THIN),
    key: dense(THIN, THIN),
    value: dense(WIDTH, THIN),
    attended: dense(THIN, THIN),
    networks: Array.from({ length: NETWORKS }, () => [dense(THIN, WIDTH), dense(WIDTH, THIN)]),
    output: dense(THIN, WIDTH),
  });
  const blocks = Array.from({ length: BLOCKS }, block);
  const spans = dense(WIDTH, 2);
  const heads = (values) => tf.transpose(tf.reshape(values, [LENGTH, HEADS, THIN / HEADS]), [1, 0, 2]);

  function apply({ input, shared, query, key, value, attended, networks, output }, state) {
    let thin = input(state);
    const common = shared(state);
    const scores = tf.matMul(heads(query(common)), heads(key(common)), false, true);
    const mixed = tf.matMul(tf.softmax(tf.mul(scores, 1 / Math.sqrt(THIN / HEADS))), heads(value(state)));
    thin = tf.add(thin, attended(tf.reshape(tf.transpose(mixed, [1, 0, 2]), [LENGTH, THIN])));
    for (const [up, down] of networks) thin = tf.add(thin, down(up(thin, "relu")));
    return tf.add(state, output(thin));
  }

  return (ids) => {
    const words = tf.gather(table, tf.tensor1d(ids, "int32"));
    const before = tf.pad(tf.slice(words, [1, 0], [LENGTH - 1, THIN]), [[0, 1], [0, 0]]);
    const after = tf.pad(tf.slice(words, [0, 0], [LENGTH - 1, THIN]), [[1, 0], [0, 0]]);
    let state = tf.add(widen(tf.concat([before, words, after], 1)), places);
    for (const layer of blocks) state = apply(layer, state);
    return spans(state);
  };
}
