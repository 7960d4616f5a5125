/* ---- the pace of the run ------------------------------------------------------------------------------------- */

const STEP = 2;

/* Asks the run for another pace: simulated seconds per second, null for as fast as can be. */
async function setPace(rate, paused) {
  const wanted = new URLSearchParams({ token, rate: rate === null ? "" : Number(rate.toPrecision(3)), paused: paused ? "yes" : "no" });
  try {
    const answer = await fetch(`pace?${wanted}`, { method: "POST", cache: "no-store" });
    const { pace, paused: isPaused, error } = await answer.json();
    if (!answer.ok) throw new Error(error);
    Object.assign(run, { pace, paused: isPaused });
    drawHead();
    drawControls();
  } catch (error) {
    complain(`The pace was not changed: ${error.message}`);
  }
}

function drawControls() {
  element("controls").hidden = run.phase !== "running";
  element("pause").textContent = run.paused ? "Continue" : "Pause";
  element("pause").setAttribute("aria-pressed", run.paused);
  element("faster").disabled = element("fastest").disabled = run.pace === null;
}

/* A run that goes as fast as can be is slowed down from the speed that it has. */
const pace = () => run.pace ?? Math.max(run.speed, 1);

element("pause").onclick = () => setPace(run.pace, !run.paused);
element("slower").onclick = () => setPace(pace() / STEP, run.paused);
element("faster").onclick = () => setPace(pace() * STEP, run.paused);
element("fastest").onclick = () => setPace(null, run.paused);

