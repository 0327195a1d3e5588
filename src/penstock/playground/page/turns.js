// What is asked about a board goes in turn, and so does what replaces it: no request reaches the server after the board that it names has ended.
let last = Promise.resolve();

export function inTurn(request) {
  const answer = last.then(request);
  last = answer.catch(() => {});  // who waits for the answer has its error
  return answer;
}
